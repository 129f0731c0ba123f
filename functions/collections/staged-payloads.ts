import type { BlobStore } from '../blobs/port.ts';
import { BlobError } from '../blobs/port.ts';
import { sha256 } from '../kernel/canonical-json.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { Full } from '../kernel/full.ts';
import type { World } from '../kernel/world.ts';
import { type RecordStore, StoreError, type StoreFailure } from '../store/port.ts';
import { PayloadPieces } from './payload-pieces.ts';
import type { PayloadPlace } from './payload-place.ts';
import { leftoverKey, stagedBytesKey, UPKEEP_SCOPE, upkeepListing } from './upkeep-collections.ts';

/** Larger requests are staged beside their run. */
export const STAGED_INLINE_BYTES_MAX = 64 * 1024;

/** Upkeep first checks a staged payload after this time. No admission lasts so long. */
const REST_MS = 3_600_000;
const REFERENCE_BYTES = 16;

export interface StagedBounds {
  /** Largest payload. */
  readonly payloadBytesMax: number;
  /** The most staged bytes of the unfinished jobs of one space. */
  readonly spaceBytesMax: number;
  /** The setting behind these bounds; `null` if they are fixed. */
  readonly setting: string | null;
}

/**
 * Payloads that are too large for a run. The intent to remove a payload is written before its bytes, so that upkeep finds the
 * leftovers of a crash. The same transaction counts the bytes of the space.
 */
export class StagedPayloads {
  readonly #store: () => Promise<RecordStore>;
  readonly #world: World;
  readonly #place: PayloadPlace;
  readonly #bounds: StagedBounds;

  /** Without `blobs` the payloads are stored in the record store, in pieces. */
  constructor(
    store: () => Promise<RecordStore>,
    world: World,
    blobs: (() => Promise<BlobStore>) | null,
    bounds: StagedBounds,
  ) {
    this.#store = store;
    this.#world = world;
    this.#place = blobs === null ? new PayloadPieces(store) : new PayloadBlobs(blobs);
    this.#bounds = bounds;
  }

  get payloadBytesMax(): number {
    return this.#bounds.payloadBytesMax;
  }

  /** Stages the text and returns its reference; `Full` if the space has too many staged bytes. */
  async stage(space: string, text: string): Promise<string | Full> {
    const bytes = Buffer.from(text);
    const reference = Buffer.from(this.#world.random.bytes(REFERENCE_BYTES)).toString('hex');
    const key = leftoverKey('payload', reference);
    const counter = stagedBytesKey(space);
    const request = { gate: counter, keys: [{ key, expectAbsent: true }, { key: counter }] };
    const due = this.#world.clock.now() + REST_MS;
    const full = await (await this.#store()).transact(UPKEEP_SCOPE, request, (found) => {
      const used = Number(found.get(counter)?.head['bytes'] ?? 0);
      const staged = used + bytes.byteLength;
      if (staged > this.#bounds.spaceBytesMax) return { writes: [], result: this.#full(used) };
      const head = { kind: 'payload', space, reference, bytes: bytes.byteLength };
      const intent = { key, head, body: null, listing: upkeepListing(key), due };
      return { writes: [{ put: intent }, { put: { key: counter, head: { bytes: staged } } }], result: null };
    });
    if (full !== null) return full;
    await this.#place.put(reference, bytes).catch(asStoreError);
    return reference;
  }

  #full(used: number): Full {
    const { spaceBytesMax: limit, setting } = this.#bounds;
    const why = setting === null ? '' : ` (${setting})`;
    const detail = `The requests of unfinished jobs of this space use ${used} of ${limit} bytes${why}`;
    return { detail, limit, used, setting };
  }

  /** Throws `not_found` for a payload that upkeep has removed. */
  async read(reference: string): Promise<string> {
    const bytes = await this.#place.get(reference, this.#bounds.payloadBytesMax * 2).catch(asStoreError);
    if (bytes === null) throw new ServiceError('not_found', 'The payload of the job is gone.');
    return Buffer.from(bytes).toString('utf8');
  }

  /** Removes the bytes, then the intent. Has no effect if both are gone. */
  async discard(space: string, reference: string): Promise<void> {
    await this.#place.remove(reference).catch(asStoreError);
    const key = leftoverKey('payload', reference);
    const counter = stagedBytesKey(space);
    const request = { gate: counter, keys: [{ key }, { key: counter }], frees: true };
    await (await this.#store()).transact(UPKEEP_SCOPE, request, (found) => {
      const intent = found.get(key);
      if (intent === undefined) return { writes: [], result: null };
      const left = Number(found.get(counter)?.head['bytes'] ?? 0) - Number(intent.head['bytes']);
      const counted = left > 0 ? { put: { key: counter, head: { bytes: left } } } : { remove: counter };
      const isCounted = found.get(counter) !== undefined;
      return { writes: [{ remove: key }, ...(isCounted ? [counted] : [])], result: null };
    });
  }
}

/** Prefix of all staged payloads in the blob store. */
export const STAGED_PREFIX = 'staged-payloads/';

class PayloadBlobs implements PayloadPlace {
  readonly #open: () => Promise<BlobStore>;

  constructor(open: () => Promise<BlobStore>) {
    this.#open = open;
  }

  async put(reference: string, bytes: Uint8Array): Promise<void> {
    const attributes = { contentType: 'application/json', sha256: sha256(bytes), metadata: {} };
    await (await this.#open()).put(blobKey(reference), bytes, attributes);
  }

  async get(reference: string, bytesMax: number): Promise<Uint8Array | null> {
    return (await (await this.#open()).get(blobKey(reference), bytesMax))?.bytes ?? null;
  }

  async remove(reference: string): Promise<void> {
    await (await this.#open()).remove(blobKey(reference));
  }
}

function blobKey(reference: string): string {
  return `${STAGED_PREFIX}${reference}.json`;
}

const FAILURES: Readonly<Record<string, StoreFailure>> = {
  full: 'full',
  unavailable: 'unavailable',
  corrupt: 'corrupt',
};

/** Turns failures of the blob store into those of a store, so that callers handle one kind. */
function asStoreError(error: unknown): never {
  const failure = error instanceof BlobError ? FAILURES[error.failure] : undefined;
  throw failure === undefined ? error : new StoreError(failure, String(error), { cause: error });
}
