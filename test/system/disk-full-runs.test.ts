import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ExecutionExternalWorkerLease, ExecutionRun } from '../../contracts/generated/models.ts';
import { SmallDisk, smallDiskMissing } from './disk-full-disk.ts';
import { Filler } from './disk-full-filler.ts';
import { LoopServer } from './kill-loop-server.ts';

const DISK_BYTES = 8 * 1024 * 1024;
const WORKER = 'worker-1';
const FULL = { status: 503, body: { code: 'storage_full', status: 503 } };
// The disk fills, and not the share of one tenant.
const settings = ['ExecutionRuntime:ExternalHandlers:0:HandlerId=outside', 'Quotas:DiskSharePercent=100'];

const skipped = smallDiskMissing !== undefined && process.env['CI'] === undefined;
const omitted = skipped ? `, left out: ${smallDiskMissing}` : '';

/** Runs of one server, and a worker that holds their leases. */
class Runs {
  readonly #server: LoopServer;

  constructor(server: LoopServer) {
    this.#server = server;
  }

  post(path: string, body: unknown) {
    return this.#server.ask('POST', `/execution${path}`, body);
  }

  start(number: number) {
    return this.post('/runs', { handlerId: 'outside', payload: { number } });
  }

  async lease(): Promise<ExecutionExternalWorkerLease> {
    const wish = { workerId: WORKER, handlerIds: ['outside'], ttlSeconds: 600 };
    const reply = await this.post('/workers/leases', wish);
    return reply?.body as ExecutionExternalWorkerLease;
  }

  /** One call of the holder of a lease. */
  held({ leaseKey, leaseToken }: ExecutionExternalWorkerLease, path: string, body: object) {
    return this.post(`/workers/leases/${path}`, { workerId: WORKER, leaseKey, leaseToken, ...body });
  }

  complete(lease: ExecutionExternalWorkerLease) {
    return this.held(lease, 'complete', { result: { status: 'succeeded', result: { done: true } } });
  }

  cancel({ id }: ExecutionRun) {
    return this.#server.ask('DELETE', `/execution/runs/${id}`);
  }

  prune() {
    return this.post('/runtime/maintenance/prune', { dryRun: false, retainTerminalRuns: 0 });
  }
}

describe.skipIf(skipped)(`runs on a full disk${omitted}`, () => {
  it('end, are cancelled and are pruned while new ones are refused', async () => {
    await using disk = await SmallDisk.mount(DISK_BYTES);
    const within = (program: string, args: readonly string[]) => disk.command(program, args);
    await using server = new LoopServer({ folder: disk.folder('data'), settings, within });
    await server.start();
    const runs = new Runs(server);
    const started: ExecutionRun[] = [];
    for (let number = 0; number < 4; number += 1) {
      started.push((await runs.start(number))?.body as ExecutionRun);
    }
    const leases = [await runs.lease(), await runs.lease()] as const;
    const made = await server.ask('POST', '/collections', { name: 'large' });
    const ended = async ({ id }: ExecutionRun): Promise<string> => {
      for (;;) {
        const run = (await server.ask('GET', `/execution/runs/${id}`))?.body as ExecutionRun;
        if (!['queued', 'running', 'waiting'].includes(run.status)) return run.status;
      }
    };
    expect(await ended(made?.body as ExecutionRun)).toBe('succeeded');
    const filler = new Filler(server, 'full');
    disk.fill(DISK_BYTES / 4);
    await filler.fill(3_000);

    expect(await runs.start(9)).toMatchObject(FULL);
    expect(await runs.complete(leases[0])).toMatchObject({ status: 200, body: { status: 'succeeded' } });
    const late = await runs.lease();
    expect(late.run?.status).toBe('running');
    const removed = await server.ask('DELETE', '/collections/large');
    expect(removed).toMatchObject({ status: 202 });
    expect(await ended(removed?.body as ExecutionRun)).toBe('succeeded');
    const leased = new Set([...leases, late].map(({ run }) => run?.id));
    const queued = started.filter(({ id }) => !leased.has(id));
    for (const run of queued) {
      expect(await runs.cancel(run)).toMatchObject({ status: 200, body: { status: 'cancelled' } });
    }
    const pruned = await runs.prune();
    expect(pruned).toMatchObject({ status: 200, body: { runs: 4 } });
    expect(await filler.faults()).toEqual([]);

    // Other writers take the remaining room, so that an artifact finds none.
    disk.fill();
    const artifact = { name: 'large', text: 'x'.repeat(600_000) };
    expect(await runs.held(leases[1], 'artifacts', { artifact })).toMatchObject(FULL);
    const files = readdirSync(join(disk.seen, 'data', 'artifacts'), { recursive: true, withFileTypes: true });
    expect(files.filter((entry) => entry.isFile())).toEqual([]);
    disk.free();
    expect(await runs.held(leases[1], 'artifacts', { artifact })).toMatchObject({ status: 200 });
    expect(await runs.complete(leases[1])).toMatchObject({ status: 200 });
    expect(await server.stop()).toBe(0);
  });
});
