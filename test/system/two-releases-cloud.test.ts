import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ExecutionRun, ExecutionTraceEvent } from '../../contracts/generated/models.ts';
import { release } from '../../functions/release.ts';
import { firestoreHost, firestoreMissing, firestoreProject } from '../support/firestore.ts';
import { CloudDeployment, Ledger } from './cloud-chaos.ts';
import { releasedServer, releasedVersion } from './released-server.ts';

const HANDLERS = ['chaos.plain', 'chaos.retry', 'chaos.event', 'chaos.timer', 'chaos.key'] as const;
const RUNS = 30;

const settings = {
  ExecutionRuntime__Plugins__0: './test/system/cloud-chaos-plugin.ts',
  ExecutionRuntime__LeaseSeconds: '10',
  ExecutionRuntime__MaxActiveRuns: '1000',
  Server__CanonicalRateLimit__PermitLimit: '100000',
  Server__CanonicalRateLimit__WindowSeconds: '1',
  Server__LogLevel: 'error',
};

async function ask<T>(url: string, body?: object): Promise<T> {
  const headers = { 'content-type': 'application/json' };
  const init = body === undefined ? {} : { method: 'POST', headers, body: JSON.stringify(body) };
  const response = await fetch(url, init);
  const answer = await response.text();
  expect([response.status < 300, answer]).toEqual([true, answer]);
  return JSON.parse(answer) as T;
}

async function ended(url: string, id: string): Promise<ExecutionRun> {
  for (;;) {
    const run = await ask<ExecutionRun>(`${url}/execution/runs/${id}?waitSeconds=12`);
    if (run.completedAtUtc !== null) return run;
  }
}

async function mixed(): Promise<void> {
  const ledger = new Ledger();
  const frozen = join(releasedServer(), 'functions.mjs');
  const entryOf = (_: string, n: number) => (n === 0 ? 'functions/index.ts' : frozen);
  let requests = 0;
  // The two processes of a function take turns.
  const random = () => (requests++ % 2) / 2;
  await using cloud = new CloudDeployment({ '/ledger': ledger.listener }, random, entryOf);
  await cloud.start(() => ({ ...settings, GOOGLE_CLOUD_PROJECT: firestoreProject() }), firestoreHost(), {
    execution: 2,
    worker: 2,
    reconcile: 1,
  });
  const versions = new Set<string>();
  for (let n = 0; n < 2; n += 1) {
    const { status } = await ask<{ status: { adapter: { version: string } } }>(
      `${cloud.url}/execution/runtime`,
    );
    versions.add(status.adapter.version);
  }
  expect(versions).toEqual(new Set([releasedVersion, release.version]));
  const ids = await Promise.all(
    Array.from({ length: RUNS }, async (_, n) => {
      const handlerId = HANDLERS[n % HANDLERS.length] ?? 'chaos.plain';
      const payload = { ledger: `${cloud.url}/ledger` };
      const retryPolicy = { maxAttempts: 3, initialDelaySeconds: 1 };
      const body = {
        handlerId,
        payload,
        idempotencyKey: `mixed ${n}`,
        scope: { productId: 'p', tenantId: 't' },
      };
      const more = handlerId === 'chaos.retry' ? { retryPolicy } : {};
      const { id } = await ask<ExecutionRun>(`${cloud.url}/execution/runs`, { ...body, ...more });
      if (handlerId === 'chaos.event')
        await ask(`${cloud.url}/execution/runs/${id}/events`, { name: 'go', payload: null });
      return id;
    }),
  );
  for (const id of ids) {
    const run = await ended(cloud.url, id);
    const history = await ask<ExecutionTraceEvent[]>(`${cloud.url}/execution/runs/${id}/history?limit=200`);
    const count = (type: string) => history.filter((event) => event.type === type).length;
    expect([run.status, run.error, run.handlerId]).toEqual(['succeeded', null, run.handlerId]);
    expect(['run.created', 'run.completed', 'run.started'].map(count)).toEqual([1, 1, run.attempt]);
    expect(run.result).toBe(run.attempt);
  }
  expect(ledger.twice).toEqual([]);
  expect(await cloud.later('reconcile', 0)).toMatchObject({ settled: 0, failed: 0 });
  expect(await cloud.later('prune', 0)).toMatchObject({ account: { runs: 0, faulty: 0 } });
}

const skipped = firestoreMissing === undefined ? '' : `, left out: ${firestoreMissing}`;

describe(`functions of ${releasedVersion} and of this release over one queue and one Firestore`, () => {
  it.skipIf(skipped !== '')(`end every run once${skipped}`, mixed);
});
