import type { ComposedGroup } from '../../../functions/compose/group.ts';
import { PageTokens } from '../../../functions/kernel/page-token.ts';
import { sharedSecret } from '../../../functions/store/secret.ts';
import { operations } from '../contracts/generated/operations.ts';
import { loadValidators } from '../contracts/generated/validators/load.ts';
import { NotesAccess } from './access.ts';
import { notesHandlers } from './handlers.ts';
import type { ImportParts } from './import-notes.ts';
import { notesJobs } from './jobs.ts';
import { notesCollections } from './records.ts';

/** The group as the composition root takes it. Without grants it is open, as Development is. */
export function notesGroup(hooks: Pick<ImportParts, 'beforeBatch'> = {}): ComposedGroup {
  const access = new NotesAccess([]);
  return {
    name: 'notes',
    operations: async () => operations,
    validators: loadValidators.notes,
    module: async () => ({
      bytesMax: 0,
      collections: async () => notesCollections,
      jobs: async ({ store }) => [notesJobs({ store: store.get, access, ...hooks })],
      async load({ store, world, execution }) {
        const { jobs } = await execution.get();
        const plugin = notesJobs({ store: store.get, access, ...hooks });
        const pageTokens = new PageTokens(sharedSecret(store.get, world.random, 'page-tokens'));
        return { handlers: notesHandlers({ store: store.get, access, jobs, plugin, pageTokens }), extra: [] };
      },
    }),
  };
}
