import { ServiceError } from '../kernel/errors.ts';
import type { LoadedRecords } from '../store/port.ts';
import { StoreError } from '../store/port.ts';
import type { RecordParts } from './parts.ts';
import { collectionMissing, readCollection } from './read-policy.ts';
import { policyKey } from './store-collections.ts';
import { collectionOf, incarnationIn, type StoredCollection } from './stored-collection.ts';

/** Tries of one call: other calls move a collection's name far less often. */
const TRIES_MAX = 10;

/** The name points to another incarnation than the call assumed. */
export class Moved {
  /** `null`: the collection does not exist. */
  readonly to: StoredCollection | null;

  constructor(to: StoredCollection | null) {
    this.to = to;
  }
}

/**
 * Runs `call` with the incarnation that the process remembers for the name. The call reads the policy beside its records and
 * returns `Moved` if the memory was outdated; it then runs again. Throws the refusal of a collection that does not exist.
 */
export async function callOn<R>(
  parts: RecordParts,
  space: string,
  name: string,
  call: (collection: StoredCollection) => Promise<R | Moved>,
): Promise<R> {
  let collection = parts.incarnations.get(space, name) ?? (await readCollection(parts, space, name));
  for (let tries = 1; collection !== null; tries += 1) {
    const believed = collection;
    const result = await call(believed).catch((error: unknown) => checked(error, parts, space, believed));
    if (!(result instanceof Moved)) return result;
    if (tries === TRIES_MAX) throw new StoreError('contention', 'the collection is replaced again and again');
    parts.incarnations.set(space, name, result.to);
    collection = result.to;
  }
  throw collectionMissing(name);
}

/** Checks the policy before a refusal is thrown: the refusal may come from an outdated policy. */
async function checked(
  error: unknown,
  parts: RecordParts,
  space: string,
  { name, incarnation }: StoredCollection,
): Promise<Moved> {
  if (!(error instanceof ServiceError)) throw error;
  const now = await readCollection(parts, space, name);
  if (now?.incarnation === incarnation) throw error;
  return new Moved(now);
}

/** `Moved` if the policy that was read with the records is not that of `collection`. */
export function movedFrom({ name, incarnation }: StoredCollection, found: LoadedRecords): Moved | null {
  const policy = found.get(policyKey(name));
  if (policy !== undefined && incarnationIn(policy.head) === incarnation) return null;
  return new Moved(policy === undefined ? null : collectionOf(policy));
}
