import type { Query } from '@google-cloud/firestore';
import type { Scope } from '../port.ts';
import type { CountsRequest, FoundCounts, FoundEntries, TermRequest } from '../search.ts';
import { collectionPath, decodeText, parseDocumentId, type Text } from './layout.ts';
import { countAt, type Fixed, runAt } from './read.ts';
import type { Session } from './session.ts';

/** Counts that are under way at once. */
const countsMax = 16;

export async function findCounts(
  session: Session,
  scope: Scope,
  { state, at }: Fixed,
  { collection, group, terms, max }: CountsRequest,
): Promise<FoundCounts> {
  const path = collectionPath(scope, state.generation, collection);
  const counts: number[] = [];
  if (max <= 0) return { counts: terms.map(() => 0) };
  for (let from = 0; from < terms.length; from += countsMax) {
    const some = terms.slice(from, from + countsMax);
    const count = (term: string) => countAt(session, holders(session, path, group, term).limit(max), at);
    counts.push(...(await Promise.all(some.map(count))));
  }
  return { counts };
}

/** One read for each entry, and one for the knowledge that there is a further one. */
export async function findByTerm(
  session: Session,
  scope: Scope,
  { state, at }: Fixed,
  { collection, group, term, limit, after }: TermRequest,
): Promise<FoundEntries> {
  const path = collectionPath(scope, state.generation, collection);
  const walk = holders(session, path, group, term)
    .select('searchOrder', 'lexicon')
    .limit(limit + 1);
  const query = after === undefined ? walk : walk.startAfter(after);
  const { docs } = await runAt(session, query, { at });
  const entries = docs.slice(0, limit).map((document) => ({
    id: parseDocumentId(document.id).id,
    orderKey: document.get('searchOrder') as string,
    lexicon: decodeText(document.get('lexicon') as Text),
  }));
  return { entries, next: docs.length > limit ? (entries.at(-1)?.orderKey ?? null) : null };
}

/** In the order of their keys. Also counts name it: the index of terms serves no query without it. */
function holders(session: Session, path: string, group: string, term: string): Query {
  const inGroup = session.db.collection(path).where('searchGroup', '==', group);
  return inGroup.where('terms', 'array-contains', term).orderBy('searchOrder');
}
