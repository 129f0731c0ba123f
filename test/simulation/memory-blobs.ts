import {
  type BlobAttributes,
  BlobError,
  type BlobListRequest,
  type BlobPage,
  type BlobStore,
  type StoredBlob,
} from '../../functions/blobs/port.ts';
import { checkContent, checkPut, checkReadable } from '../../functions/blobs/rules.ts';

export type BlobCall = 'put' | 'get' | 'remove';

/** Where a simulation takes part: before and after each call takes effect. An error of a hook ends the call there. */
export interface BlobHooks {
  readonly before?: (call: BlobCall, key: string) => Promise<void>;
  readonly after?: (call: BlobCall, key: string) => Promise<void>;
}

/** The objects of a place, which outlive the processes that write them. */
export type MemoryPlace = Map<string, StoredBlob>;

/** The port of large objects in memory. */
export class MemoryBlobs implements BlobStore {
  readonly provider = 'memory';
  readonly #place: MemoryPlace;
  readonly #hooks: BlobHooks;

  constructor(place: MemoryPlace = new Map(), hooks: BlobHooks = {}) {
    this.#place = place;
    this.#hooks = hooks;
  }

  put(key: string, bytes: Uint8Array, attributes: BlobAttributes): Promise<void> {
    return this.#call('put', key, async () => {
      await checkPut(key, bytes, attributes);
      const stored = this.#place.get(key);
      if (stored !== undefined && stored.sha256 !== attributes.sha256)
        throw new BlobError('conflict', 'the key holds another object');
      if (stored === undefined) this.#place.set(key, { ...attributes, bytes: Uint8Array.from(bytes) });
    });
  }

  get(key: string, bytesMax: number): Promise<StoredBlob | null> {
    return this.#call('get', key, async () => {
      const stored = this.#place.get(key);
      if (stored === undefined) return null;
      checkReadable(stored.bytes.byteLength, bytesMax);
      await checkContent(stored.bytes, stored.sha256);
      return stored;
    });
  }

  remove(key: string): Promise<void> {
    return this.#call('remove', key, () => void this.#place.delete(key));
  }

  async removeAll(prefix: string): Promise<number> {
    const keys = [...this.#place.keys()].filter((key) => key.startsWith(prefix));
    for (const key of keys) this.#place.delete(key);
    return keys.length;
  }

  async list(prefix: string, { limit, after = '' }: BlobListRequest): Promise<BlobPage> {
    const keys = [...this.#place.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
    return { keys: keys.slice(0, limit), next: keys.length > limit ? (keys[limit - 1] ?? null) : null };
  }

  uriOf(key: string): string {
    return `svc-object://memory/${key}`;
  }

  async ping(): Promise<void> {}

  async close(): Promise<void> {}

  async #call<R>(call: BlobCall, key: string, act: () => R | Promise<R>): Promise<R> {
    await this.#hooks.before?.(call, key);
    const result = await act();
    await this.#hooks.after?.(call, key);
    return result;
  }
}
