import { type OwnedCollection, SPACE_DATA } from '../../../functions/store/ownership.ts';
import { type RecordData, type RecordKey, type Scope, StoreError } from '../../../functions/store/port.ts';
import { recordId } from '../../../functions/store/record-id.ts';

export const NOTES: OwnedCollection = { name: 'notes', pairedIndexes: false, ...SPACE_DATA };
/** How far each import has come: written in one transaction with the notes themselves. */
export const IMPORTS: OwnedCollection = { name: 'note-imports', pairedIndexes: false, ...SPACE_DATA };

export const notesCollections: readonly OwnedCollection[] = [NOTES, IMPORTS];

export interface StoredNote {
  readonly notebook: string;
  readonly id: string;
  readonly text: string;
  /** Counts the writes. */
  readonly revision: number;
  readonly importedBy: string | null;
}

export function notesScope(space: string): Scope {
  return { kind: 'system', name: `notes-${recordId(space)}` };
}

export function noteKey(notebook: string, id: string): RecordKey {
  return { collection: NOTES.name, id: recordId(notebook, id) };
}

export function importKey(runId: string): RecordKey {
  return { collection: IMPORTS.name, id: recordId(runId) };
}

export function noteRecord(note: StoredNote): RecordData {
  return {
    key: noteKey(note.notebook, note.id),
    head: { revision: note.revision },
    body: JSON.stringify(note),
  };
}

export function readNote({ body }: RecordData): StoredNote {
  if (typeof body !== 'string') throw new StoreError('corrupt', 'a note has no text');
  return JSON.parse(body) as StoredNote;
}

/** The note after one more write. */
export function rewritten(
  before: RecordData | undefined,
  { notebook, id, text }: Pick<StoredNote, 'notebook' | 'id' | 'text'>,
  importedBy: string | null,
): StoredNote {
  const revision = before === undefined ? 1 : readNote(before).revision + 1;
  return { notebook, id, text, revision, importedBy };
}
