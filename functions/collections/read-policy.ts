import { ExpectedAbsence, type ServiceError } from '../kernel/errors.ts';
import { listPages, recordsOf } from '../store/pages.ts';
import type { Moment, RecordData } from '../store/port.ts';
import type { RecordParts } from './parts.ts';
import { COLLECTION_GROUP, POLICIES, policyKey, spaceScope } from './store-collections.ts';
import { collectionOf, type StoredCollection } from './stored-collection.ts';

const NAMES_A_PAGE = 500;

/** The collection that `name` points at now; `null` if the space has none. */
export async function readCollection(
  parts: RecordParts,
  space: string,
  name: string,
): Promise<StoredCollection | null> {
  const store = await parts.store();
  const keys = [{ key: policyKey(name), view: 'body' } as const];
  const [found] = (await store.query(spaceScope(space), { by: 'keys', keys })).records;
  const collection = found === undefined ? null : collectionOf(found);
  parts.incarnations.set(space, name, collection);
  return collection;
}

/** The names of a space's collections in the order of their bytes: the first `limit` of those behind `after`. */
export async function listCollectionNames(
  { store }: RecordParts,
  space: string,
  { after = null, limit = Infinity }: { readonly after?: string | null; readonly limit?: number } = {},
): Promise<string[]> {
  const begin = after === null ? {} : { afterId: after };
  const selection = {
    collection: POLICIES,
    group: COLLECTION_GROUP,
    limit: Math.min(limit, NAMES_A_PAGE),
    ...begin,
  };
  const names: string[] = [];
  for await (const { listing } of recordsOf(listPages(await store(), spaceScope(space), selection))) {
    names.push(listing?.id ?? '');
    if (names.length === limit) break;
  }
  return names;
}

/** The collection of the name at the moment. Throws the refusal of an absent collection. */
export async function collectionAt(moment: Moment, name: string): Promise<StoredCollection> {
  return collectionOf(await policyAt(moment, name));
}

/** The policy record of the name in the moment. Throws the refusal of an absent collection. */
export async function policyAt(moment: Moment, name: string): Promise<RecordData> {
  const keys = [{ key: policyKey(name), view: 'body' } as const];
  const [found] = (await moment.query({ by: 'keys', keys })).records;
  if (found === undefined) throw collectionMissing(name);
  return found;
}

/** The refusal of a call that needs the collection. Clients match its words. */
export function collectionMissing(name: string): ServiceError {
  return new ExpectedAbsence(`Collection '${name}' does not exist.`, 'collection_not_found');
}
