import { ServiceError } from '../../../functions/kernel/errors.ts';
import type { NotesHandlers } from '../contracts/handlers.ts';
import type { NotesDependencies } from './dependencies.ts';
import { noteKey, noteRecord, notesScope, readNote, rewritten } from './records.ts';

export function putNote({ store, access }: NotesDependencies): NotesHandlers['putNote'] {
  return async ({ params: { notebook, noteId }, body: { text } }, { caller }) => {
    const scope = notesScope(access.spaceOf(caller, 'note_write'));
    const key = noteKey(notebook, noteId);
    const note = await (await store()).transact(
      scope,
      { gate: key, keys: [{ key, view: 'body' }] },
      (found) => {
        const result = rewritten(found.get(key), { notebook, id: noteId, text }, null);
        return { writes: [{ put: noteRecord(result) }], result };
      },
    );
    return { status: 200, body: note };
  };
}

export function getNote({ store, access }: NotesDependencies): NotesHandlers['getNote'] {
  return async ({ params: { notebook, noteId } }, { caller }) => {
    const scope = notesScope(access.spaceOf(caller, 'note_read'));
    const keys = [{ key: noteKey(notebook, noteId), view: 'body' as const }];
    const { records } = await (await store()).query(scope, { by: 'keys', keys });
    if (records[0] === undefined) throw new ServiceError('not_found', 'There is no such note.');
    return { status: 200, body: readNote(records[0]) };
  };
}
