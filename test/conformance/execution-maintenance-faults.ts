import { describe, expect, it } from 'vitest';
import type { BlobStore } from '../../functions/blobs/port.ts';
import { sha256 } from '../../functions/kernel/canonical-json.ts';
import { prune, pruneAll } from '../../functions/runs/maintenance/prune.ts';
import { removeRun } from '../../functions/runs/maintenance/remove-run.ts';
import { findRun } from '../../functions/runs/read-runs.ts';
import { acquireRunLease } from '../../functions/runs/run-owned.ts';
import type { Runtime } from '../../functions/runs/runtime.ts';
import { type RecordStore, StoreError } from '../../functions/store/port.ts';
import { patched } from './canonical-outbox-tenant.ts';
import { HANDLER, ownRuns, someKey, textOfBytes, working } from './execution-fixtures.ts';
import { contentOf, endedRuns, plain, rich, roomForBytes } from './execution-maintenance-fixtures.ts';
import type { ExecutionConformance } from './execution-suite.ts';

const HOUR = 3_600_000;
const all = { dryRun: false, retainTerminalRuns: 0 };

/** The process dies with its call number `at`: before it, or after it was made and before its answer came. */
class Dying {
  calls = 0;
  readonly at: number;
  readonly after: boolean;

  constructor(at: number, after: boolean) {
    this.at = at;
    this.after = after;
  }

  async call<R>(make: () => Promise<R>): Promise<R> {
    const number = this.calls;
    this.calls += 1;
    if (number > this.at || (number === this.at && !this.after)) throw dead();
    const answer = await make();
    if (number === this.at) throw dead();
    return answer;
  }

  runtime(runtime: Runtime, store: RecordStore, blobs: BlobStore): Runtime {
    const dying = patched(store, {
      transact: (...given) => this.call(() => store.transact(...given)),
      query: ((...given: Parameters<RecordStore['query']>) =>
        this.call(() => store.query(...given))) as RecordStore['query'],
      claim: (...given) => this.call(() => store.claim(...given)),
    });
    const bytes = over(blobs, {
      list: (...given) => this.call(() => blobs.list(...given)),
      removeAll: (prefix) => this.call(() => blobs.removeAll(prefix)),
    });
    return { ...runtime, store: () => Promise.resolve(dying), blobs: () => Promise.resolve(bytes) };
  }
}

/** The same place, with some calls of it in other hands. */
function over(blobs: BlobStore, calls: Partial<BlobStore>): BlobStore {
  return {
    provider: blobs.provider,
    put: (...given) => blobs.put(...given),
    get: (...given) => blobs.get(...given),
    remove: (key) => blobs.remove(key),
    removeAll: (prefix) => blobs.removeAll(prefix),
    list: (...given) => blobs.list(...given),
    uriOf: (key) => blobs.uriOf(key),
    ping: () => blobs.ping(),
    close: () => blobs.close(),
    ...calls,
  };
}

function dead(): StoreError {
  return new StoreError('unavailable', 'the process is gone');
}

export function describePruneFaults({ store }: ExecutionConformance): void {
  describe('prune that dies', () => {
    it('at any call is finished by the next one, and leaves nothing', { timeout: 120_000 }, async () => {
      const blobs = await roomForBytes();
      const own = ownRuns(store(), { blobs, options: { artifactInlineBytesMax: 1_000 } });
      const stage = async () => {
        await plain(own.client);
        await endedRuns(own.client, 1, { idempotencyKey: 'key', payload: textOfBytes(20_000) });
        await rich(own, 3);
        own.clock.now += HOUR;
      };
      let died = 0;
      for (let at = 0; ; at += 1) {
        await stage();
        const dying = new Dying(Math.floor(at / 2), at % 2 === 1);
        const runtime = dying.runtime(own.instance.runtime, store(), blobs);
        await prune(runtime, all, own.clock.now).catch((error: unknown) => {
          if (!(error instanceof StoreError)) throw error;
        });
        // Each run is complete or removed.
        for (const { id } of await own.client.list()) expect(await own.client.get(id)).toBeDefined();
        own.clock.now += 60_000;
        await own.client.prune(all);
        expect(await contentOf(store(), own.scope), `died at call ${at}`).toEqual([
          expect.stringContaining('"active":0'),
        ]);
        expect((await blobs.list('artifacts/', { limit: 10 })).keys).toEqual([]);
        if (dying.calls <= Math.floor(at / 2)) break;
        died += 1;
      }
      expect(died).toBeGreaterThan(15);
      await blobs.close();
    });

    it('is not held up by bytes that cannot be removed', async () => {
      const blobs = await roomForBytes();
      const own = ownRuns(store(), { blobs, options: { artifactInlineBytesMax: 1_000 } });
      await rich(own);
      own.clock.now += HOUR;
      const closed = over(blobs, { removeAll: () => Promise.reject(dead()) });
      const runtime = { ...own.instance.runtime, blobs: () => Promise.resolve(closed) };
      expect(await prune(runtime, all, own.clock.now)).toMatchObject({ runs: 1 });
      const later = await plain(own.client);
      own.clock.now += 60_000;
      expect((await prune(runtime, all, own.clock.now)).runIds).toEqual([later]);
      own.clock.now += 60_000;
      await own.client.prune(all);
      expect((await blobs.list('artifacts/', { limit: 10 })).keys).toEqual([]);
      await blobs.close();
    });
  });

  describe('a run that is written to while it is pruned', () => {
    it('also removes records that were written meanwhile', async () => {
      const own = ownRuns(store());
      const id = await plain(own.client);
      const { runtime } = own.instance;
      const seen = await findRun(runtime, id);
      if (seen === undefined) throw new Error('the run is there');
      await own.client.raise(id, { name: 'late', payload: textOfBytes(20_000) });
      expect(await removeRun(runtime, seen, own.clock.now)).toMatchObject({ runs: 1, externalEvents: 1 });
      expect(await contentOf(store(), own.scope)).toHaveLength(1);
    });

    it('succeeds also when the run is written to at every read', async () => {
      const own = ownRuns(store());
      const id = await plain(own.client);
      const { runtime } = own.instance;
      let raised = 0;
      const watched = patched(store(), {
        transact: async (scope, request, decide) => {
          const removing = request.keys.some(({ key }) => key.collection === 'runs');
          if (removing && raised < 5) {
            raised += 1;
            const payload = textOfBytes(20_000);
            await own.client.raise(id, { name: `late-${raised}`, payload }).catch(() => undefined);
          }
          return store().transact(scope, request, decide);
        },
      });
      const seen = await findRun(runtime, id);
      if (seen === undefined) throw new Error('the run is there');
      const disturbed = { ...runtime, store: () => Promise.resolve(watched) };
      expect(await removeRun(disturbed, seen, own.clock.now)).toMatchObject({ runs: 1 });
      expect(raised).toBe(3);
      expect(await contentOf(store(), own.scope)).toHaveLength(1);
    });

    it('keeps a lease that belongs to another run by then', async () => {
      const own = ownRuns(store());
      const { runtime } = own.instance;
      const lease = { name: someKey(), scope: null, ttlSeconds: 60, metadata: {} };
      const holding = async () => {
        const { run, work } = await working(own.client);
        return {
          work,
          held: { runId: run.id, tokenHash: sha256(work.leaseToken), workerId: work.workerId },
        };
      };
      const [first, second] = [await holding(), await holding()];
      await acquireRunLease(runtime, first.held, lease, own.clock.now);
      await own.client.complete({ ...first.work, result: {} });
      own.clock.now += 60_000;
      const seen = await findRun(runtime, first.held.runId);
      if (seen === undefined) throw new Error('the run is there');
      let taken = false;
      const rival = patched(store(), {
        transact: async (...given) => {
          if (!taken) taken = await acquireRunLease(runtime, second.held, lease, own.clock.now);
          return store().transact(...given);
        },
      });
      const disturbed = { ...runtime, store: () => Promise.resolve(rival) };
      expect(await removeRun(disturbed, seen, own.clock.now)).toMatchObject({ runs: 1 });
      expect(taken).toBe(true);
      const third = await holding();
      expect(await acquireRunLease(runtime, third.held, lease, own.clock.now)).toBe(false);
      expect(await acquireRunLease(runtime, second.held, lease, own.clock.now)).toBe(true);
    });

    it('is never taken while it is active', async () => {
      const own = ownRuns(store());
      const { id } = await own.client.start({ handlerId: HANDLER });
      const run = await findRun(own.instance.runtime, id);
      if (run === undefined) throw new Error('the run is there');
      const outdated = { ...run, status: 'succeeded' as const };
      expect(await removeRun(own.instance.runtime, outdated, own.clock.now)).toBeNull();
      expect((await own.client.get(id)).status).toBe('queued');
    });
  });

  describe('all that is to be pruned', () => {
    it('is pruned batch by batch, until the time is over', async () => {
      const own = ownRuns(store());
      const { runtime } = own.instance;
      for (let made = 0; made < 60; made += 1) await plain(own.client);
      let looks = 0;
      const clock = {
        now: () => {
          looks += 1;
          return own.clock.now + looks;
        },
      };
      const timed = { ...runtime, world: { ...runtime.world, clock } };
      const deadline = own.clock.now + 3;
      const first = await pruneAll(timed, own.clock.now, { deadline, retainTerminalRuns: 5 });
      expect(first).toMatchObject({ runs: 50, events: 150, failed: 0, more: true });
      looks = -100;
      const second = await pruneAll(timed, own.clock.now, { deadline, retainTerminalRuns: 5 });
      expect(second).toMatchObject({ runs: 5, failed: 0, more: false });
      expect(await own.client.list({ limit: 200 })).toHaveLength(5);
    });

    it('is tried again later where nothing can be removed', async () => {
      const own = ownRuns(store());
      await plain(own.client);
      const failing = patched(store(), { transact: () => Promise.reject(dead()) });
      const runtime = { ...own.instance.runtime, store: () => Promise.resolve(failing) };
      const summary = await pruneAll(runtime, own.clock.now, {
        deadline: Number.MAX_SAFE_INTEGER,
        retainTerminalRuns: 0,
      });
      expect(summary).toMatchObject({ runs: 0, failed: 1, more: true });
    });
  });
}
