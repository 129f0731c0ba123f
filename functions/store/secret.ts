import type { RandomSource } from '../kernel/world.ts';
import { type OwnedCollection, SERVICE_DATA } from './ownership.ts';
import { type RecordKey, type RecordStore, type Scope, StoreError } from './port.ts';
import { recordId } from './record-id.ts';

const SCOPE: Scope = { kind: 'system', name: 'service' };
/** Secrets of one deployment: a restored one makes secrets of its own. */
export const SECRETS: OwnedCollection = {
  ...SERVICE_DATA,
  name: 'secrets',
  pairedIndexes: false,
};
const SECRET_BYTES = 32;

/**
 * A secret that every instance over this store shares: the first one to ask makes it. Kept for the life of the instance
 * once read; a failed read is tried again by the next call.
 *
 * A store without room for it still serves reads: until there is room, the instance uses the secret that it would have
 * stored.
 */
export function sharedSecret(
  store: () => Promise<RecordStore>,
  random: RandomSource,
  name: string,
): () => Promise<Uint8Array> {
  let secret: Promise<Uint8Array> | undefined;
  let own: Buffer | undefined;
  return () => {
    const fresh = (own ??= Buffer.from(random.bytes(SECRET_BYTES)));
    secret ??= readOrMake(store, fresh.toString('hex'), name).catch((error: unknown) => {
      secret = undefined;
      if (error instanceof StoreError && error.failure === 'full') return fresh;
      throw error;
    });
    return secret;
  };
}

async function readOrMake(
  store: () => Promise<RecordStore>,
  fresh: string,
  name: string,
): Promise<Uint8Array> {
  const key: RecordKey = { collection: SECRETS.name, id: recordId(name) };
  const kept = await (await store()).transact(SCOPE, { gate: key, keys: [{ key }] }, (found) => {
    const there = found.get(key);
    if (there !== undefined) return { writes: [], result: String(there.head.secret) };
    const put = { key, head: { name, secret: fresh }, body: null, listing: null };
    return { writes: [{ put }], result: fresh };
  });
  return Buffer.from(kept, 'hex');
}
