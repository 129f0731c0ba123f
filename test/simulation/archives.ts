import { MANIFEST_NAME } from '../../functions/archives/chunk-list.ts';
import { SnapshotError } from '../../functions/archives/snapshot-error.ts';
import type { ChunkSink, ChunkSource } from '../../functions/groups/canonical/copies/snapshot/archive.ts';
import { type ArchiveManifest } from '../../functions/groups/canonical/copies/snapshot/manifest.ts';
import {
  exportTenantArchive,
  restoreTenantArchive,
} from '../../functions/groups/canonical/copies/tenant-archives.ts';
import { ServiceError } from '../../functions/kernel/errors.ts';
import type { RecordData, RecordStore } from '../../functions/store/port.ts';
import type { Scheduler } from './scheduler.ts';

/** The work of the operator's tool on a store beside the operations: copies as archives. */

/** Small, so that an archive has several. */
const CHUNK_BYTES = 2_000;

/** An archive on a disk that never fails; who restores from it may meet another one. */
export class ArchiveObjects extends Map<string, Uint8Array> implements ChunkSink {
  async write(name: string, content: Uint8Array): Promise<void> {
    this.set(name, content);
  }

  get manifest(): ArchiveManifest {
    return JSON.parse(Buffer.from(this.get(MANIFEST_NAME) ?? []).toString()) as ArchiveManifest;
  }
}

export interface ArchiveRestore {
  readonly archive: ArchiveObjects;
  readonly expectedContentHash?: string;
  /** From this reading of its last chunk on, the chunk is another one; it is read twice. 0: never. */
  readonly spoiledFrom: 0 | 1 | 2;
}

/** The two calls of the tool that the contract does not have, in the form of its operations. */
export interface ArchiveOperations {
  readonly exportTenantArchive: {
    readonly params: { readonly tenantId: string };
    readonly body: null;
    readonly response: { readonly body: ArchiveObjects };
  };
  readonly restoreTenantArchive: {
    readonly params: { readonly tenantId: string };
    readonly body: ArchiveRestore;
    readonly response: { readonly body: null };
  };
}

export class ArchiveTool {
  readonly #store: RecordStore;
  readonly #scheduler: Scheduler;

  constructor(store: RecordStore, scheduler: Scheduler) {
    this.#store = waitingInside(store, scheduler);
    this.#scheduler = scheduler;
  }

  async exportTenantArchive(
    { tenantId }: { readonly tenantId: string },
    now: number,
  ): Promise<ArchiveObjects> {
    const archive = new ArchiveObjects();
    const options = { now, chunkBytes: CHUNK_BYTES };
    await this.#scheduler.outside(() => exportTenantArchive(this.#store, tenantId, archive, options));
    return archive;
  }

  async restoreTenantArchive(
    { tenantId }: { readonly tenantId: string },
    { archive, expectedContentHash, spoiledFrom }: ArchiveRestore,
  ): Promise<null> {
    const options = expectedContentHash === undefined ? {} : { expectedContentHash };
    const source = sourceOf(archive, spoiledFrom);
    try {
      await this.#scheduler.outside(() => restoreTenantArchive(this.#store, tenantId, source, options));
    } catch (error) {
      if (!(error instanceof SnapshotError)) throw error;
      throw new ServiceError('content_hash_mismatch', error.message);
    }
    return null;
  }
}

function sourceOf(archive: ArchiveObjects, spoiledFrom: number): ChunkSource {
  const last = [...archive.keys()]
    .filter((name) => name !== MANIFEST_NAME)
    .sort()
    .at(-1);
  let readings = 0;
  return {
    names: async () => [...archive.keys()],
    read: async (name) => {
      const content = archive.get(name) ?? null;
      if (name !== last || content === null) return content;
      readings++;
      return spoiledFrom === 0 || readings < spoiledFrom ? content : content.toReversed();
    },
  };
}

/** The store, for work that is outside but where it waits for this store. */
function waitingInside(store: RecordStore, scheduler: Scheduler): RecordStore {
  const inside = <T>(work: () => Promise<T>) => scheduler.inside(work);
  return new Proxy(store, {
    get(target, name) {
      if (name === 'scan') {
        return (...request: Parameters<RecordStore['scan']>) => eachWithin(inside, target.scan(...request));
      }
      if (name === 'swap') {
        return (...[scope, records, verify]: Parameters<RecordStore['swap']>) => {
          const outside = <T>(work: () => Promise<T>) => scheduler.outside(work);
          const given: AsyncIterable<RecordData> = eachWithin(outside, records);
          return inside(() => target.swap(scope, given, verify));
        };
      }
      throw new Error(`a copy asked the store to ${String(name)}`);
    },
  });
}

async function* eachWithin<T>(
  within: <R>(work: () => Promise<R>) => Promise<R>,
  items: AsyncIterable<T>,
): AsyncGenerator<T, void, undefined> {
  const iterator = items[Symbol.asyncIterator]();
  try {
    for (;;) {
      const step = await within(() => iterator.next());
      if (step.done === true) return;
      yield step.value;
    }
  } finally {
    await within(async () => iterator.return?.());
  }
}
