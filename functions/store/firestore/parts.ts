import { FieldPath, type Query, type Timestamp } from '@google-cloud/firestore';
import type { Part, PartPage, PartsSelection, Scope } from '../port.ts';
import { collectionPath, decodeText, type Text } from './layout.ts';
import { reading } from './read.ts';
import type { ScopeState, Session } from './session.ts';

/**
 * The parts filed under a record id: the documents that hold one, in the order of the part, and of each document only
 * that part. One read a part, whatever else the commit wrote.
 */
export async function listParts(
  session: Session,
  scope: Scope,
  { generation, partCollections }: ScopeState,
  selection: PartsSelection,
): Promise<PartPage> {
  const { limit, direction } = selection;
  const found: Part[] = [];
  let at: Timestamp | undefined;
  // In practice one collection; of several, all are read at the moment of the first.
  for (const collection of partCollections) {
    const ordered = walk(session, collectionPath(scope, generation, collection), selection).limit(limit + 1);
    const snapshot =
      at === undefined
        ? await reading(session, ordered.get())
        : await reading(
            session,
            session.db.runTransaction((transaction) => transaction.get(ordered), {
              readOnly: true,
              readTime: at,
            }),
          );
    at ??= snapshot.readTime;
    for (const document of snapshot.docs) {
      const body = document.get(new FieldPath('parts', selection.of)) as Text;
      const order = String(document.get(new FieldPath('partOrder', selection.of)));
      found.push({ of: selection.of, order, body: decodeText(body) });
    }
  }
  const sign = direction === 'ascending' ? 1 : -1;
  if (partCollections.length > 1) {
    found.sort((left, right) => sign * Buffer.compare(Buffer.from(left.order), Buffer.from(right.order)));
  }
  const parts = found.slice(0, limit);
  return { parts, next: found.length > limit ? (parts.at(-1)?.order ?? null) : null };
}

function walk(session: Session, collection: string, { of, direction, after }: PartsSelection): Query {
  const order = new FieldPath('partOrder', of);
  const query = session.db
    .collection(collection)
    .orderBy(order, direction === 'ascending' ? 'asc' : 'desc')
    .select(order, new FieldPath('parts', of));
  return after === undefined ? query : query.startAfter(after);
}
