import { join } from 'node:path';
import { openCloudStorageBlobs } from '../../functions/blobs/cloud-storage/store.ts';
import { openFileBlobs } from '../../functions/blobs/files/store.ts';
import type { BlobStore } from '../../functions/blobs/port.ts';
import { machine } from '../../functions/compose/machine.ts';
import { ObjectMemory } from '../../functions/objects/object-memory.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { recordCollections } from '../conformance/records-stage.ts';
import { serveObjects } from '../support/objects-service.ts';

/**
 * A process of its own with the operations of objects: nothing but the service uses its memory. It tells its address, then, when it is
 * asked, the most that it has held.
 */

export interface ObjectsProcessOptions {
  readonly folder: string;
  /** Where the bytes lie. */
  readonly place: 'files' | { readonly bucket: string; readonly endpoint: string };
  readonly bytesInFlightMax: number;
  readonly objectBytesMax: number;
}

export interface MemoryPeak {
  /** Bytes of buffers that were in use. */
  readonly live: number;
}

/** Turns of the event loop from one look at the memory to the next, while calls hold bytes. */
const TURNS_PER_LOOK = 4;

const { folder, place, bytesInFlightMax, objectBytesMax } = JSON.parse(
  process.argv[2] ?? '',
) as ObjectsProcessOptions;
// The clock stands: no call counts as slow on a busy machine.
const bytes = new ObjectMemory(bytesInFlightMax, objectBytesMax, { now: () => 0 });
const store = await openSqliteStore({
  path: join(folder, 'store.db'),
  ...machine,
  collections: recordCollections,
});
const blobs = await openBlobs();
const host = await serveObjects({ store, blobs, bytes, bytesInFlightMax });

function openBlobs(): Promise<BlobStore> | BlobStore {
  if (place === 'files') return openFileBlobs({ folder: join(folder, 'blobs'), ...machine });
  return openCloudStorageBlobs({ ...place, ...machine });
}

let live = 0;
let turns = 0;
/** Looks while calls hold bytes, by turns of the event loop: a clock would look between the calls of a fast machine. */
function look(): void {
  if (bytes.total > 0 && turns++ % TURNS_PER_LOOK === 0) measure();
  if (bytes.total > 0) setImmediate(look);
  else setTimeout(look, 1);
}
look();

function measure(): void {
  // Unreferenced buffers do not count. Node frees their bytes in another thread, so that one collection may still count them;
  // the second collection waits for that.
  globalThis.gc?.();
  globalThis.gc?.();
  live = Math.max(live, process.memoryUsage().arrayBuffers);
}
process.on('message', () => {
  process.send?.({ live } satisfies MemoryPeak);
  live = 0;
});
process.send?.(host.url);
