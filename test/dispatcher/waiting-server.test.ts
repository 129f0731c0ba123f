import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { HttpOutboxClient } from '../../dispatcher/http-client.ts';
import { compose, type Service } from '../../functions/compose/compose.ts';
import { machine } from '../../functions/compose/machine.ts';
import { faultsText } from '../../functions/config/fault.ts';
import { loadConfiguration } from '../../functions/config/load.ts';
import { type NodeHost, serveNode } from '../../functions/http/host-node.ts';

const WAIT_SECONDS = 19;
/** Longer than the wait, so that a stop which waited for either of them would show by the wait running out. */
const DRAIN_MS = 30_000;

let folder: string;
let service: Service;
let host: NodeHost;
/** Settle when a call begins to wait at the server, and when it has ended to. */
let waiting: PromiseWithResolvers<void>;
let ended: PromiseWithResolvers<void>;
let ranOut: boolean;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-waiting-'));
  waiting = Promise.withResolvers();
  ended = Promise.withResolvers();
  ranOut = false;
  const world = {
    ...machine,
    timers: {
      after(delayMs: number, callback: () => void) {
        if (delayMs !== WAIT_SECONDS * 1000) return machine.timers.after(delayMs, callback);
        const cancel = machine.timers.after(delayMs, () => {
          ranOut = true;
          callback();
        });
        waiting.resolve();
        return () => {
          cancel();
          ended.resolve();
        };
      },
    },
  };
  const { settings, faults } = loadConfiguration({
    host: 'embedded',
    env: {},
    argv: [`--Server:DataDirectory=${folder}`],
    readFile: () => undefined,
  });
  if (settings === undefined) throw new Error(faultsText(faults));
  service = compose(settings, { world, writeLog: () => {} });
  host = await serveNode(await service.chain(service.groups), {
    host: '127.0.0.1',
    port: 0,
    world: machine,
    drainMs: DRAIN_MS,
  });
});
afterEach(async () => {
  await host.stop();
  await service.close();
  rmSync(folder, { recursive: true, force: true });
});

const lease = (waitSeconds: number, signal = new AbortController().signal) =>
  new HttpOutboxClient({ address: host.url }).lease(
    { tenantId: 'acme', consumerId: 'c', maxItems: 1, leaseSeconds: 60, waitSeconds },
    { signal },
  );

async function publish(): Promise<void> {
  const body = JSON.stringify({ idempotencyKey: 'k', outbox: [{ id: 'e', topic: 't', key: 'k' }] });
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${host.url}/canonical/tenants/acme/transactions`, {
    method: 'POST',
    headers,
    body,
  });
  expect(answer.status).toBe(200);
}

test('a waiting call is answered by the next event', async () => {
  const call = lease(WAIT_SECONDS);
  await waiting.promise;
  await publish();
  expect(await call).toMatchObject([{ event: { id: 'e' } }]);
});

test('a waiting call is answered at once when the server stops', async () => {
  const call = lease(WAIT_SECONDS);
  await waiting.promise;
  await host.stop();
  expect(await call).toEqual([]);
  expect(ranOut).toBe(false);
});

test('a disconnected caller leases no event', async () => {
  const controller = new AbortController();
  const call = lease(WAIT_SECONDS, controller.signal);
  await waiting.promise;
  controller.abort();
  await expect(call).rejects.toThrow('the call failed');
  await ended.promise;
  await publish();
  expect(await lease(0)).toMatchObject([{ event: { id: 'e', deliveryCount: 1 } }]);
});
