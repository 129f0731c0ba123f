import type { JobPlugin } from '../../../functions/jobs/job-plugin.ts';
import type { NotesAccess } from './access.ts';
import type { ImportParts } from './import-notes.ts';

export const IMPORT_HANDLER = 'svc.notes.import';

/** The durable work of the group. The code of the handler is loaded by the worker that first executes it. */
export function notesJobs(parts: ImportParts & { readonly access: NotesAccess }): JobPlugin {
  return {
    pluginId: 'svc.notes',
    name: 'Notes',
    family: 'note-import',
    statusPath: '/note-imports',
    handlers: [
      {
        handlerId: IMPORT_HANDLER,
        displayName: 'Import notes',
        judge: ({ caller, space }) => parts.access.require(caller, space, 'note_write'),
        async run(context) {
          const { importNotes } = await import('./import-notes.ts');
          return importNotes(parts, context);
        },
      },
    ],
  };
}
