import { FieldPath, type QueryDocumentSnapshot } from '@google-cloud/firestore';
import { dueSize, dueUntil } from '../due.ts';
import type { Collection, DueRequest, RecordPage, Scope } from '../port.ts';
import { dueBound } from './entries.ts';
import { collectionPath, LANE } from './layout.ts';
import { inLiveGeneration, reading } from './read.ts';
import { fieldsOf, recordOf, storedOf } from './records.ts';
import type { Session } from './session.ts';

const field = new FieldPath('due', LANE);

/** The document's place in the order of due records. */
export function entryOf(document: QueryDocumentSnapshot): string {
  return String(document.get(field));
}

export async function dueDocuments(
  session: Session,
  collection: string,
  now: number,
  after: string | undefined,
  size: number,
): Promise<QueryDocumentSnapshot[]> {
  const query = session.db
    .collection(collection)
    .where(field, '<', dueBound(now))
    .orderBy(field, 'asc')
    .limit(size);
  const from = after === undefined ? query : query.startAfter(after);
  return (await reading(session, from.select(...fieldsOf('body')).get())).docs;
}

export async function readDue(
  session: Session,
  scope: Scope,
  collection: Collection,
  request: DueRequest,
): Promise<RecordPage> {
  const size = dueSize(request);
  if (size === 0) return { records: [], next: null };
  const documents = await inLiveGeneration(session, scope, ({ generation }) => {
    const path = collectionPath(scope, generation, collection.name);
    return dueDocuments(session, path, dueUntil(request), request.after, size);
  });
  const records = documents.flatMap((document) => {
    const stored = storedOf(document, { collection: collection.name, id: document.id });
    return stored === undefined ? [] : [recordOf(stored, 'body')];
  });
  const last = documents.at(-1);
  return { records, next: last === undefined || documents.length < size ? null : entryOf(last) };
}
