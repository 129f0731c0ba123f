import { BlobError, type BlobStore } from '../../functions/blobs/port.ts';
import { createCollection } from '../../functions/collections/pointers.ts';
import { getRecord } from '../../functions/collections/read-record.ts';
import { readPolicy } from '../../functions/collections/rules/policy.ts';
import { OBJECT_LEFTOVERS, OBJECTS, spaceScope } from '../../functions/collections/store-collections.ts';
import { OBJECT_SPACES, UPKEEP_SCOPE } from '../../functions/collections/upkeep-collections.ts';
import { sha256 } from '../../functions/kernel/canonical-json.ts';
import { ServiceError } from '../../functions/kernel/errors.ts';
import { type ArtifactCommit, commitArtifact } from '../../functions/objects/commit-artifact.ts';
import { type StagedArtifact, stageArtifact } from '../../functions/objects/stage-artifact.ts';
import { referenceIn } from '../../functions/objects/stored-object.ts';
import { type RecordStore, StoreError } from '../../functions/store/port.ts';
import { HOUR_MS, largeBytes, ObjectsStage } from '../conformance/objects-stage.ts';
import { ManualWorld } from '../support/manual-world.ts';
import { MemoryBlobs, type MemoryPlace } from './memory-blobs.ts';
import { MemoryDatabase } from './memory-database.ts';
import { MemoryStore } from './memory-store.ts';

/**
 * Objects under one fault at one step: every call of the record store and of the blob store is two steps, before and after it
 * takes effect. What was acknowledged must be readable at all times, and upkeep must leave no bytes without an object.
 */

export type Operation =
  | { readonly put: string; readonly bytes: Buffer }
  /** Bytes that arrive at the blob store only after upkeep has taken them for abandoned. */
  | { readonly putLate: string; readonly bytes: Buffer }
  | { readonly remove: string }
  /** An artifact with a record of the same name, whose run is executed until it ends. */
  | { readonly ingest: string; readonly bytes: Buffer }
  /** Upkeep by a process of its own, after a while. */
  | { readonly sweepAfterMs: number };

export interface Fault {
  readonly step: number;
  /** `killed`: the process makes no further call. `unavailable`: this call has no answer. */
  readonly kind: 'killed' | 'unavailable';
}

/** A bug planted on purpose, in what a process sees of its stores. */
export interface ObjectsFlaw {
  readonly about: string;
  readonly store?: (store: RecordStore) => RecordStore;
  readonly blobs?: (blobs: BlobStore) => BlobStore;
  /** Upkeep takes every run for one that is over. */
  readonly forgetsRuns?: true;
}

export class Violation extends Error {}

class Killed extends Error {}

const SPACE = 'space';
const COLLECTION = 'notes';
const ATTEMPTS_MAX = 4;

/** Runs the operations under the fault, and answers how many steps there were. Throws a `Violation`. */
export async function runObjects(
  operations: readonly Operation[],
  fault: Fault | null,
  flaw: ObjectsFlaw | null = null,
): Promise<number> {
  const run = new ObjectsRun(fault, flaw);
  await run.begin();
  for (const operation of operations) await run.execute(operation);
  await run.end();
  return run.steps;
}

class ObjectsRun {
  steps = 0;
  readonly #fault: Fault | null;
  readonly #flaw: ObjectsFlaw | null;
  readonly #world = new ManualWorld();
  readonly #database = new MemoryDatabase();
  readonly #place: MemoryPlace = new Map();
  /** The possible contents of each key: several values after a write without an answer. */
  readonly #known = new Map<string, (Buffer | null)[]>();
  readonly #activeRuns = new Set<string>();
  #process = this.#start();
  #isAlive = true;

  constructor(fault: Fault | null, flaw: ObjectsFlaw | null) {
    this.#fault = fault;
    this.#flaw = flaw;
  }

  async begin(): Promise<void> {
    await createCollection(this.#plain().parts.records, SPACE, readPolicy({ name: COLLECTION }));
  }

  async execute(operation: Operation): Promise<void> {
    if (!this.#isAlive) {
      this.#isAlive = true;
      this.#process = this.#start();
    }
    if ('sweepAfterMs' in operation) {
      this.#world.advance(operation.sweepAfterMs);
      await this.#start().sweep().catch(expectFault);
    } else if ('remove' in operation) {
      await this.#write(operation.remove, null, () => this.#process.remove(operation.remove));
    } else if ('ingest' in operation) {
      await this.#ingest(operation.ingest, operation.bytes);
    } else if ('put' in operation) {
      await this.#write(operation.put, operation.bytes, () =>
        this.#process.put(operation.put, operation.bytes),
      );
    } else {
      const late = this.#start(async () => {
        this.#world.advance(2 * HOUR_MS);
        await this.#start().sweep().catch(expectFault);
      });
      await this.#write(operation.putLate, operation.bytes, () =>
        late.put(operation.putLate, operation.bytes),
      );
    }
    await this.#check();
  }

  async end(): Promise<void> {
    for (let times = 0; times < 4; times += 1) {
      this.#world.advance(2 * HOUR_MS);
      await this.#start().sweep().catch(expectFault);
      await this.#check();
    }
    const heads = this.#records(OBJECTS.name);
    const named = new Set(heads.map(({ head }) => referenceIn(head)).filter((each) => each !== null));
    for (const key of this.#place.keys()) {
      const reference = /([0-9a-f]{32})\.bin$/.exec(key)?.[1] ?? '';
      if (!named.has(reference)) throw new Violation('bytes lie without an object');
    }
    if (this.#records(OBJECT_LEFTOVERS.name).length > 0) throw new Violation('a leftover stays');
    const marks = this.#database.all(UPKEEP_SCOPE, OBJECT_SPACES.name);
    if (marks.length > 0) throw new Violation('a mark stays');
  }

  #records(collection: string) {
    return this.#database.all(spaceScope(SPACE), collection).map(({ record }) => record);
  }

  /** A write without an answer may have been made, or not. */
  async #write(key: string, bytes: Buffer | null, write: () => Promise<unknown>): Promise<void> {
    const before = this.#known.get(key) ?? [null];
    try {
      await write();
      this.#known.set(key, [bytes]);
    } catch (error) {
      expectFault(error);
      if (error instanceof Killed) this.#isAlive = false;
      this.#known.set(key, error instanceof ServiceError ? before : [...before, bytes]);
    }
  }

  /** Nothing is admitted where the staging fails. An admitted run has executions until one of them ends it. */
  async #ingest(key: string, bytes: Buffer): Promise<void> {
    let staged: StagedArtifact;
    try {
      staged = await stageArtifact(this.#process.parts, SPACE, bytes);
    } catch (error) {
      expectFault(error);
      if (error instanceof Killed) this.#isAlive = false;
      return;
    }
    const { ticket, inline } = staged;
    this.#activeRuns.add(ticket);
    const commit = commitOf(key, bytes, { ticket, inline });
    const isWritten = await this.#executed(commit);
    this.#activeRuns.delete(ticket);
    if (!isWritten) throw new Violation('an admitted artifact was not written');
    const record = await getRecord(this.#plain().parts.records, SPACE, COLLECTION, {
      id: key,
      partitionKey: 'p',
    });
    if (record?.etag !== 'rev:1') throw new Violation('a record was not written once');
    this.#known.set(key, [bytes]);
  }

  /** A later execution comes after upkeep, and also after one whose answer was lost. */
  async #executed(commit: ArtifactCommit): Promise<boolean> {
    let isWritten = false;
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      try {
        await commitArtifact(this.#start().parts, SPACE, commit);
        if (isWritten) return true;
        isWritten = true;
      } catch (error) {
        expectFault(error);
      }
      this.#world.advance(2 * HOUR_MS);
      await this.#start().sweep().catch(expectFault);
    }
    return isWritten;
  }

  #plain(): ObjectsStage {
    const options = { space: SPACE, world: this.#world };
    return new ObjectsStage(new MemoryStore(this.#database), new MemoryBlobs(this.#place), options);
  }

  async #check(): Promise<void> {
    const reader = this.#plain();
    for (const [key, known] of this.#known) {
      const found = await reader.get(key).catch((error: unknown) => {
        throw new Violation(`${key} cannot be read: ${String(error)}`);
      });
      const isKnown = known.some((each) =>
        each === null || found === null ? each === found : each.equals(found),
      );
      if (!isKnown) throw new Violation(`${key} holds bytes that no call can have left`);
    }
  }

  #start(afterPut?: () => Promise<void>): ObjectsStage {
    let isDead = false;
    const step = async (unavailable: Error): Promise<void> => {
      if (isDead) throw new Killed();
      const at = this.steps++;
      if (at !== this.#fault?.step) return;
      if (this.#fault.kind === 'unavailable') throw unavailable;
      isDead = true;
      throw new Killed();
    };
    const trip = () => step(new StoreError('unavailable', 'no answer'));
    const call = () => step(new BlobError('unavailable', 'no answer'));
    const store = new MemoryStore(this.#database, { before: trip, after: trip });
    const blobs = new MemoryBlobs(this.#place, {
      before: call,
      after: async (which) => {
        await call();
        if (which === 'put') await afterPut?.();
      },
    });
    const activeRuns = this.#flaw?.forgetsRuns === true ? new Set<string>() : this.#activeRuns;
    const options = { space: SPACE, world: this.#world, activeRuns };
    return new ObjectsStage(
      this.#flaw?.store?.(store) ?? store,
      this.#flaw?.blobs?.(blobs) ?? blobs,
      options,
    );
  }
}

function expectFault(error: unknown): void {
  if (error instanceof Killed || error instanceof StoreError || error instanceof ServiceError) return;
  throw error;
}

function commitOf(
  key: string,
  bytes: Buffer,
  staged: Pick<StagedArtifact, 'ticket' | 'inline'>,
): ArtifactCommit {
  return {
    ...staged,
    collection: COLLECTION,
    recordText: JSON.stringify({ id: key, partitionKey: 'p' }),
    place: { container: 'files', key },
    contentType: null,
    metadata: {},
    contentHash: sha256(bytes),
    contentLength: bytes.length,
  };
}

const small = (fill: number) => Buffer.alloc(10, fill);

/** Scripts that together reach every pair of states and steps at least once. */
export const OBJECT_SCRIPTS: readonly (readonly Operation[])[] = [
  [{ put: 'a', bytes: largeBytes(1) }, { sweepAfterMs: HOUR_MS / 4 }],
  [{ put: 'a', bytes: largeBytes(1) }, { sweepAfterMs: 2 * HOUR_MS }, { put: 'a', bytes: largeBytes(2) }],
  [
    { put: 'a', bytes: largeBytes(1) },
    { put: 'a', bytes: largeBytes(2) },
    { sweepAfterMs: HOUR_MS },
    { put: 'b', bytes: largeBytes(3) },
    { sweepAfterMs: HOUR_MS },
  ],
  [
    { put: 'a', bytes: largeBytes(1) },
    { put: 'a', bytes: small(1) },
    { sweepAfterMs: HOUR_MS },
    { put: 'a', bytes: largeBytes(2) },
    { remove: 'a' },
  ],
  [{ put: 'a', bytes: largeBytes(1) }, { remove: 'a' }, { sweepAfterMs: 2 * HOUR_MS }],
  [
    { put: 'a', bytes: largeBytes(1) },
    { sweepAfterMs: 3 * HOUR_MS },
    { remove: 'a' },
    { put: 'a', bytes: largeBytes(2) },
  ],
  [
    { putLate: 'a', bytes: largeBytes(1) },
    { put: 'a', bytes: largeBytes(2) },
  ],
  [{ put: 'a', bytes: largeBytes(1) }, { putLate: 'a', bytes: largeBytes(2) }, { sweepAfterMs: 3 * HOUR_MS }],
  [
    { put: 'a', bytes: small(1) },
    { put: 'b', bytes: largeBytes(2) },
    { put: 'b', bytes: small(3) },
    { sweepAfterMs: HOUR_MS },
    { remove: 'b' },
    { remove: 'a' },
  ],
  [
    { ingest: 'a', bytes: largeBytes(1) },
    { put: 'a', bytes: largeBytes(2) },
  ],
  [{ ingest: 'a', bytes: small(1) }, { remove: 'a' }],
];
