import type { RecordParts } from '../../collections/parts.ts';
import type { RecordAccess } from '../../identity/record-access.ts';
import type { PageTokens } from '../../kernel/page-token.ts';
import type { GraphJobDependencies } from './jobs/admit-graph-job.ts';

/** The parts that the operations of the group work with. */
export interface GraphDependencies {
  /** The layer over the store. */
  readonly records: RecordParts;
  /** Names the space of each caller. */
  readonly access: RecordAccess;
  /** The jobs that import and examine graphs. */
  readonly graphJobs: GraphJobDependencies;
  readonly pageTokens: PageTokens;
}
