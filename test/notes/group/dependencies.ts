import type { Jobs } from '../../../functions/jobs/admit-job.ts';
import type { JobPlugin } from '../../../functions/jobs/job-plugin.ts';
import type { PageTokens } from '../../../functions/kernel/page-token.ts';
import type { RecordStore } from '../../../functions/store/port.ts';
import type { NotesAccess } from './access.ts';

export interface NotesDependencies {
  readonly store: () => Promise<RecordStore>;
  readonly access: NotesAccess;
  readonly jobs: Jobs;
  readonly plugin: JobPlugin;
  readonly pageTokens: PageTokens;
}
