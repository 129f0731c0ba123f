import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { openFileBlobs } from '../../functions/blobs/files/store.ts';
import { machine } from '../../functions/compose/machine.ts';
import type { NodeHost } from '../../functions/http/host-node.ts';
import { type ByteLease, ObjectMemory } from '../../functions/objects/object-memory.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { recordCollections } from '../conformance/records-stage.ts';
import { callBytes } from '../support/byte-calls.ts';
import { CALLERS, serveObjects } from '../support/objects-service.ts';

const MEBIBYTE = 1024 * 1024;
const OBJECTS = 64;
const OBJECT_BYTES = 16 * MEBIBYTE;
/** The default of `Objects:BytesInFlightMax`. */
const IN_FLIGHT_MAX = 128 * MEBIBYTE;
const LARGEST = 64 * MEBIBYTE;
/** Ends a test that hangs: a gibibyte goes in and out, much of it more than once. */
vi.setConfig({ testTimeout: 900_000 });

/** The counter of the service, with the most that it has counted, and a signal for bytes that it counts no longer. */
class WatchedBytes extends ObjectMemory {
  peak = 0;
  #released = Promise.withResolvers<void>();
  #grown = Promise.withResolvers<void>();

  /** Settles with the next bytes that are counted. */
  get grown(): Promise<void> {
    return this.#grown.promise;
  }

  /** Settles with the next release. */
  get released(): Promise<void> {
    return this.#released.promise;
  }

  override lease(space: string): ByteLease {
    const lease = super.lease(space);
    return {
      ...lease,
      take: (bytes) => {
        lease.take(bytes);
        this.peak = Math.max(this.peak, this.total);
        this.#grown.resolve();
        this.#grown = Promise.withResolvers();
      },
      release: () => {
        lease.release();
        this.#released.resolve();
        this.#released = Promise.withResolvers();
      },
    };
  }
}

const folder = mkdtempSync(join(tmpdir(), 'svc-in-flight-'));
// The clock stands: on a busy machine calls would count as slow, and give way.
const watched = new WatchedBytes(IN_FLIGHT_MAX, LARGEST, { now: () => 0 });
let store: RecordStore;
let host: NodeHost;

beforeAll(async () => {
  store = await openSqliteStore({
    path: join(folder, 'store.db'),
    ...machine,
    collections: recordCollections,
  });
  const blobs = await openFileBlobs({ folder: join(folder, 'blobs'), ...machine });
  host = await serveObjects({ store, blobs, bytes: watched, bytesInFlightMax: IN_FLIGHT_MAX });
});
afterAll(async () => {
  await host.stop();
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Calls of which some are refused for now: each is sent again once the service holds fewer bytes. */
class Callers {
  refused = 0;

  async succeed(at: number, body: Buffer | null): Promise<Buffer> {
    const principal = CALLERS[at % CALLERS.length] ?? '';
    for (;;) {
      // Take the signal before the call: the bytes that refuse it are held now, and released later.
      const { released } = watched;
      const { status, retryAfter, content } = await callBytes(`${host.url}/objects/files/${at}`, body, {
        'X-Principal': principal,
      });
      if (status === 200) return content;
      expect([status, retryAfter]).toEqual([503, '1']);
      expect(JSON.parse(content.toString())).toMatchObject({ code: 'unavailable' });
      this.refused += 1;
      await released;
    }
  }
}

const contentOf = (at: number) => Buffer.alloc(OBJECT_BYTES, `${at};`);
const hashOf = (content: Buffer) => createHash('sha256').update(content).digest('hex');
const all = Array.from({ length: OBJECTS }, (_, at) => at);

async function measured(work: (callers: Callers, at: number) => Promise<void>) {
  watched.peak = 0;
  const callers = new Callers();
  await Promise.all(all.map((at) => work(callers, at)));
  expect(watched.total).toBe(0);
  return { peak: watched.peak, refused: callers.refused };
}

test('64 objects of 16 MiB go in and out at once within the bound; callers beyond it are refused for now, and succeed', async () => {
  const hashes = new Map<number, string>();
  const written = await measured(async (callers, at) => {
    const content = contentOf(at);
    hashes.set(at, hashOf(content));
    const info = JSON.parse((await callers.succeed(at, content)).toString()) as {
      readonly contentHash: string;
    };
    expect(info.contentHash).toBe(`sha256:${hashes.get(at)}`);
  });
  const read = await measured(async (callers, at) => {
    const content = await callers.succeed(at, null);
    expect(hashOf(content)).toBe(hashes.get(at));
  });
  for (const { peak, refused } of [written, read]) {
    expect(peak).toBeLessThanOrEqual(IN_FLIGHT_MAX);
    // More than one space may hold: the bound is the one of the process.
    expect(peak).toBeGreaterThan(IN_FLIGHT_MAX / 2);
    expect(refused).toBeGreaterThan(0);
  }
});

test('callers that declare the largest object and send little of it take nothing from another', async () => {
  const slow = await Promise.all(
    ['ada', 'bob'].map(async (principal) => {
      const { grown } = watched;
      const call = request(`${host.url}/objects/files/slow`, {
        method: 'PUT',
        headers: { 'Content-Length': LARGEST, 'X-Principal': principal },
      });
      const closed = new Promise((resolve) => call.once('error', resolve));
      call.write(Buffer.alloc(MEBIBYTE));
      await grown;
      return { call, closed };
    }),
  );
  const body = Buffer.alloc(LARGEST, 1);
  const { status } = await callBytes(`${host.url}/objects/files/own`, body, { 'X-Principal': 'kim' });
  expect(status).toBe(200);
  for (const { call, closed } of slow) {
    call.destroy();
    await closed;
  }
});
