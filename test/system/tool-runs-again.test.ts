import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ExecutionRun } from '../../contracts/generated/models.ts';
import { SvcClient } from '../../sdk/typescript/src/index.ts';
import { createWorker, defineHandler, Stop, type SvcWorker } from '../../sdk/typescript/src/worker/index.ts';
import { type Ended, runTool } from '../support/operator-tool.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';

/** `svc runs journal` and `svc runs rerun` against a server whose runs a worker with steps carries out. */

const folder = mkdtempSync(join(tmpdir(), 'svc-tool-again-'));
const effects: string[] = [];
const large = 'x'.repeat(20_000);

interface Order {
  readonly order: string;
  readonly isBad?: boolean;
  readonly undo?: boolean;
}

const refund = defineHandler({
  id: 'refund',
  version: '3',
  async run({ step }, { order, isBad, undo }: Order) {
    const effect = (name: string) => effects.push(`${order} ${name}`);
    const undoing = undo === true ? { undo: () => void effect('refund') } : {};
    const charge = await step('charge', () => ({ id: `ch_${effect('charge')}` }), undoing);
    const label = await step(['label', 'a/b'], () => (effect('label'), large));
    await step('ship', () => {
      effect('ship');
      if (isBad === true) throw new Stop('no address');
    });
    await step('mail', () => effect('mail'));
    await step('mail', () => effect('mail'));
    return { charge: charge.id, label: label.length };
  },
});

let server: ServerProcess;
let client: SvcClient;
let worker: SvcWorker;
let at: { SVC_BASE_URL: string };
beforeAll(async () => {
  const settings = ['refund', 'idle'].map(
    (id, n) => `ExecutionRuntime:ExternalHandlers:${n}:HandlerId=${id}`,
  );
  server = await startServer({ SVC_DATA_DIR: join(folder, 'data') }, settings);
  at = { SVC_BASE_URL: server.address };
  client = new SvcClient({ baseUrl: server.address, apiKey: null, token: null });
  worker = createWorker({ client, workerId: 'w', handlers: [refund], log: () => undefined });
  void worker.run();
});
afterAll(async () => {
  await worker.stop();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const svc = (...args: string[]): Promise<Ended> => runTool(args, { env: at });
const json = <T>(text: string) => JSON.parse(text) as T;
const of = (order: string) =>
  effects.filter((effect) => effect.startsWith(`${order} `)).map((each) => each.slice(order.length + 1));

async function ended(payload: Order): Promise<ExecutionRun> {
  const scope = { productId: 'shop', tenantId: 'acme' };
  const tags = { customer: '4' };
  const run = await client.startExecutionRun({ handlerId: 'refund', payload, scope, tags });
  return client.waitForExecutionRun(run.id);
}

async function again(...args: string[]): Promise<ExecutionRun> {
  const { code, stdout, stderr } = await svc('runs', 'rerun', ...args, '--output', 'json');
  expect([code, stderr]).toEqual([0, '']);
  return client.waitForExecutionRun(json<ExecutionRun>(stdout).id);
}

describe('svc runs journal', () => {
  test('shows the steps of a run, and prints them for programs', async () => {
    const run = await ended({ order: 'j', isBad: true });
    const shown = await svc('runs', 'journal', run.id);
    expect([shown.code, shown.stderr]).toEqual([0, '']);
    expect(shown.stdout).toMatch(/^KEY +KIND +STATE +DURATION +TRIES +UNDO +AT +VALUE\n/);
    expect(shown.stdout).toMatch(/\ncharge +step +done +\d+ ms +1 .* \{"id":"ch_\d+"\}\n/);
    expect(shown.stdout).toMatch(/\nlabel\/a~1b +step +done .* in svc\.step\.label\/a~1b\n/);
    expect(shown.stdout).toMatch(/\nship +step +failed .* Stop: no address\n/);

    const { stdout } = await svc('runs', 'journal', run.id, '--json');
    const document = json<Record<string, unknown>>(stdout);
    expect(Object.keys(document)).toEqual([
      'runId',
      'handlerId',
      'handlerVersion',
      'payload',
      'segments',
      'values',
    ]);
    expect(document).toEqual({
      runId: run.id,
      handlerId: 'refund',
      handlerVersion: '3',
      payload: { order: 'j', isBad: true },
      segments: [(await client.getExecutionRunCheckpoint(run.id, 'svc.steps.0')).content],
      values: { 'svc.step.label/a~1b': large },
    });
    const bare = await svc('runs', 'journal', run.id, '--json', '--no-values');
    expect(json(bare.stdout)).not.toHaveProperty('values');
  });

  test('a run without steps has an empty journal, and a run that is not there ends with 3', async () => {
    const { id } = await client.startExecutionRun({ handlerId: 'idle' });
    expect(await svc('runs', 'journal', id)).toEqual({
      code: 0,
      stdout: '',
      stderr: 'The run has no journal of steps.\n',
    });
    expect(json((await svc('runs', 'journal', id, '--output', 'json')).stdout)).toEqual({
      runId: id,
      handlerId: 'idle',
      handlerVersion: null,
      payload: null,
      segments: [],
    });
    await client.cancelExecutionRun(id);
    expect(await svc('runs', 'journal', '00000000000000000001')).toMatchObject({ code: 3, stdout: '' });
  });
});

describe('svc runs rerun', () => {
  test('goes on from a step, with another payload', async () => {
    const run = await ended({ order: 'f', isBad: true });
    expect([run.status, of('f')]).toEqual(['failed', ['charge', 'label', 'ship']]);
    const corrected = join(folder, 'corrected.json');
    writeFileSync(corrected, JSON.stringify({ order: 'f' }));
    const how = [run.id, '--from', 'ship', '--payload', corrected];

    const plan = await svc('runs', 'rerun', ...how, '--dry-run');
    expect(plan).toMatchObject({ code: 0, stderr: '1 run would be started.\n' });
    expect(plan.stdout).toMatch(/kept +charge, label\/a~1b\nagain +ship\ncheckpoints +2/);

    const next = await again(...how);
    expect(next).toMatchObject({
      status: 'succeeded',
      attempt: 1,
      payload: { order: 'f' },
      scope: { productId: 'shop', tenantId: 'acme' },
      tags: { customer: '4', rerunOf: run.id },
      result: { label: large.length },
    });
    expect(of('f')).toEqual(['charge', 'label', 'ship', 'ship', 'mail', 'mail']);
    const listed = await svc('runs', 'list', '--tag', `rerunOf=${run.id}`, '--output', 'json');
    expect(json(listed.stdout)).toEqual([expect.objectContaining({ id: next.id })]);

    const third = await again(next.id, '--from', 'mail#2');
    expect(third).toMatchObject({ status: 'succeeded', tags: { rerunOf: next.id } });
    expect(of('f')).toEqual(['charge', 'label', 'ship', 'ship', 'mail', 'mail', 'mail']);
  });

  test('repeats all steps without --from, once for a key', async () => {
    const run = await ended({ order: 'w' });
    const next = await again(run.id, '--idempotency-key', 'w-again');
    const same = await again(run.id, '--idempotency-key', 'w-again');
    expect([next.status, same.id]).toEqual(['succeeded', next.id]);
    expect(of('w')).toEqual([...of('w').slice(0, 5), 'charge', 'label', 'ship', 'mail', 'mail']);
    expect(of('w')).toHaveLength(10);
  });

  test('keeps no step that the run has undone, unless it is forced', async () => {
    const run = await ended({ order: 'u', isBad: true, undo: true });
    expect(of('u')).toEqual(['charge', 'label', 'ship', 'refund']);
    const shown = await svc('runs', 'journal', run.id);
    expect(shown.stdout).toMatch(/\ncharge +step +done +\d+ ms +1 +done /);
    expect(shown.stderr).toBe('The run undoes its steps: StepFailed: "ship" failed: no address\n');
    const refused = await svc('runs', 'rerun', run.id, '--from', 'ship');
    expect(refused).toMatchObject({ code: 4, stdout: '' });
    expect(refused.stderr).toMatch(/has undone "charge".*--from "charge".*--force/);
    expect(await again(run.id, '--from', 'ship', '--force')).toMatchObject({ status: 'failed' });
    expect(of('u')).toEqual(['charge', 'label', 'ship', 'refund', 'ship', 'refund']);
  });

  test('names the steps that there are', async () => {
    const run = await ended({ order: 's' });
    const refused = await svc('runs', 'rerun', run.id, '--from', 'shop');
    expect(refused).toMatchObject({ code: 3, stdout: '' });
    expect(refused.stderr).toContain('It holds "charge", "label/a~1b", "ship", "mail", "mail#2".');
  });

  test('leaves a run alone that goes on', async () => {
    const { id } = await client.startExecutionRun({ handlerId: 'idle' });
    const refused = await svc('runs', 'rerun', id);
    expect(refused).toMatchObject({ code: 4, stdout: '' });
    expect(refused.stderr).toContain('The run is queued');
    const forced = await svc('runs', 'rerun', id, '--force', '--output', 'json');
    expect(json(forced.stdout)).toMatchObject({ status: 'queued', tags: { rerunOf: id } });
    for (const each of [id, json<ExecutionRun>(forced.stdout).id]) await client.cancelExecutionRun(each);
  });

  test('says so where the service does not know the handler', async () => {
    await expect(client.startExecutionRun({ handlerId: 'gone', payload: { a: 1 } })).rejects.toMatchObject({
      status: 400,
    });
    const found = await svc('runs', 'list', '--status', 'rejected', '--output', 'json');
    const [run] = json<[ExecutionRun]>(found.stdout);
    const bare = await svc('runs', 'rerun', run.id);
    expect(bare).toMatchObject({ code: 4, stderr: expect.stringContaining('give --payload FILE') });
    const payload = join(folder, 'payload.json');
    writeFileSync(payload, '{"a":1}');
    const refused = await svc('runs', 'rerun', run.id, '--payload', payload);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('[handler_missing]') });
  });
});
