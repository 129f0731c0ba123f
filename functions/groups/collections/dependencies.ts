import type { RecordParts } from '../../collections/parts.ts';
import type { RecordAccess } from '../../identity/record-access.ts';
import type { JobPlugin } from '../../jobs/job-plugin.ts';
import type { PageTokens } from '../../kernel/page-token.ts';
import type { World } from '../../kernel/world.ts';
import type { RecordStore } from '../../store/port.ts';
import type { RecordJobDependencies } from '../records/library/admit-record-job.ts';

/** The parts that the operations of the group work with. The first call that needs the store opens it. */
export interface CollectionsDependencies {
  readonly store: () => Promise<RecordStore>;
  readonly world: World;
  /** The layer over the store. */
  readonly records: RecordParts;
  /** Names the space of each caller. */
  readonly access: RecordAccess;
  /** The jobs that write records. */
  readonly recordJobs: RecordJobDependencies;
  /** The jobs that create and delete collections. */
  readonly collectionJobs: JobPlugin;
  readonly pageTokens: PageTokens;
}
