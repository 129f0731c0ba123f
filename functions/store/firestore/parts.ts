import { FieldPath, type Query } from '@google-cloud/firestore';
import type { Part, PartPage, PartsSelection, Scope } from '../port.ts';
import { collectionPath, decodeText, type Text } from './layout.ts';
import { type ReadTime, runAt } from './read.ts';
import type { ScopeState, Session } from './session.ts';

/**
 * The parts filed under a record id: the documents that hold one, in the order of the part, and of each document only
 * that part. One read for each part, however much else the commit wrote.
 */
export async function listParts(
  session: Session,
  scope: Scope,
  { generation }: ScopeState,
  selection: PartsSelection,
  at: ReadTime = {},
): Promise<PartPage> {
  const path = collectionPath(scope, generation, selection.collection.name);
  const snapshot = await runAt(session, walk(session, path, selection).limit(selection.limit + 1), at);
  const found = snapshot.docs.map((document): Part => {
    const body = document.get(new FieldPath('parts', selection.of)) as Text;
    const order = String(document.get(new FieldPath('partOrder', selection.of)));
    return { of: selection.of, order, body: decodeText(body) };
  });
  const parts = found.slice(0, selection.limit);
  return { parts, next: found.length > selection.limit ? (parts.at(-1)?.order ?? null) : null };
}

function walk(session: Session, path: string, { of, direction, after }: PartsSelection): Query {
  const order = new FieldPath('partOrder', of);
  const query = session.db
    .collection(path)
    .orderBy(order, direction === 'ascending' ? 'asc' : 'desc')
    .select(order, new FieldPath('parts', of));
  return after === undefined ? query : query.startAfter(after);
}
