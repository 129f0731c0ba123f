import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { operations } from '../../contracts/generated/operations/objects.ts';
import { loadValidators } from '../../contracts/generated/validators/load.ts';
import { openFileBlobs } from '../../functions/blobs/files/store.ts';
import { createRecordParts } from '../../functions/collections/parts.ts';
import { machine } from '../../functions/compose/machine.ts';
import { objectsHandlers } from '../../functions/groups/objects/handlers.ts';
import { createChain } from '../../functions/http/chain.ts';
import { type NodeHost, serveNode } from '../../functions/http/host-node.ts';
import { createRecordAccess } from '../../functions/identity/record-access.ts';
import { PageTokens } from '../../functions/kernel/page-token.ts';
import { type ByteLease, BytesInFlight } from '../../functions/objects/bytes-in-flight.ts';
import { bytesPlaceOf } from '../../functions/objects/bytes-place.ts';
import { createObjectParts, objectLimits } from '../../functions/objects/parts.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { limits, recordCollections } from '../conformance/records-stage.ts';
import { callBytes } from '../support/byte-calls.ts';

const MEBIBYTE = 1024 * 1024;
const OBJECTS = 64;
const OBJECT_BYTES = 16 * MEBIBYTE;
/** The default of `Objects:BytesInFlightMax`. */
const IN_FLIGHT_MAX = 128 * MEBIBYTE;
const SPACES = ['ada', 'bob', 'kim'];
const LARGEST = 64 * MEBIBYTE;

/** The counter of the service, with the most that it has counted, and a signal for bytes that it counts no longer. */
class WatchedBytes extends BytesInFlight {
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
const watched = new WatchedBytes(IN_FLIGHT_MAX, LARGEST, machine.clock);
let store: RecordStore;
let host: NodeHost;

beforeAll(async () => {
  store = await openSqliteStore({
    path: join(folder, 'store.db'),
    ...machine,
    collections: recordCollections,
  });
  const blobs = await openFileBlobs({ folder: join(folder, 'blobs'), ...machine });
  const open = () => Promise.resolve(store);
  const made = createObjectParts({
    records: createRecordParts({ store: open, world: machine, limits }),
    place: bytesPlaceOf(open, () => Promise.resolve(blobs)),
    limits: objectLimits(null, IN_FLIGHT_MAX),
  });
  const access = createRecordAccess({
    grants: SPACES.map((principal) => ({
      principal,
      space: principal,
      productId: null,
      operations: ['read', 'write'],
    })),
  });
  const pageTokens = new PageTokens(() => Promise.resolve(Buffer.from('test')));
  const chain = createChain({
    operations,
    handlers: objectsHandlers({ objects: { ...made, bytes: watched }, access, pageTokens }),
    validators: { objects: loadValidators.objects },
    world: machine,
    authenticator: {
      authenticate: (headers) =>
        Promise.resolve({ kind: 'workload', principal: headers.get('x-principal') ?? '' }),
    },
    authorizer: { authorize: () => undefined },
    log: () => undefined,
    rateLimit: null,
  });
  host = await serveNode(chain, { host: '127.0.0.1', port: 0, world: machine });
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
    const principal = SPACES[at % SPACES.length] ?? '';
    for (;;) {
      // Taken before the call: what refuses it is held then, and released later.
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
}, 240_000);

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
}, 60_000);
