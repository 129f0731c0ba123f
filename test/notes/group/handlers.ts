import type { NotesHandlers } from '../contracts/handlers.ts';
import type { NotesDependencies } from './dependencies.ts';
import { cancelNoteImport, getNoteImport, importNotes, listNoteImports } from './import-operations.ts';
import { getNote, putNote } from './note-operations.ts';

/** A route group with a write, a read and a job, as small as one can be. It is in no published catalog. */
export function notesHandlers(dependencies: NotesDependencies): NotesHandlers {
  return {
    putNote: putNote(dependencies),
    getNote: getNote(dependencies),
    importNotes: importNotes(dependencies),
    listNoteImports: listNoteImports(dependencies),
    getNoteImport: getNoteImport(dependencies),
    cancelNoteImport: cancelNoteImport(dependencies),
  };
}
