import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ExecutionExternalWorkerLease, ExecutionRun } from '../../contracts/generated/models.ts';
import { type RunningService, startService } from '../support/service.ts';

const unknown = 'svc-unknown-handlers';

/** The handlers that the log names. */
const namedIn = ({ lines }: Pick<RunningService, 'lines'>) =>
  lines
    .map((line) => JSON.parse(line) as { message: string; handlerId?: string })
    .filter(({ message }) => message.startsWith('A worker asks for runs of a handler'))
    .map(({ handlerId }) => handlerId);

function callsOf(service: () => RunningService) {
  const post = (path: string, body: object) => service().call({ method: 'POST', path, body });
  return {
    start: (handlerId: string, idempotencyKey = 'k') =>
      post('/execution/runs', { handlerId, idempotencyKey }),
    lease: (handlerIds: readonly string[], more: object = {}) =>
      post('/execution/workers/leases', { workerId: 'w', handlerIds, ...more }),
  };
}

describe('in Development on loopback', () => {
  let service: RunningService;
  beforeAll(async () => {
    service = await startService({ groups: ['execution'] });
  });
  afterAll(() => service.close());
  const { start, lease } = callsOf(() => service);

  test('a start before a worker is rejected, and the same request starts the run after one has asked', async () => {
    const early = await start('refund.pay');
    expect(early.status).toBe(400);
    const { code, detail } = early.json<{ code: string; detail: string }>();
    expect(code).toBe('handler_missing');
    expect(detail).toContain(
      'start a worker that names it (ExecutionRuntime:AcceptHandlersOfWorkers is true)',
    );
    const asked = await lease(['refund.pay']);
    expect([asked.status, asked.headers[unknown]]).toEqual([204, undefined]);
    const run = (await start('refund.pay')).json<ExecutionRun>();
    expect(run).toMatchObject({ status: 'queued', admission: { replayed: false } });
    const leased = (await lease(['refund.pay'])).json<ExecutionExternalWorkerLease>();
    expect(leased.run.id).toBe(run.id);
  });

  test('a handler of the service stays out of reach', async () => {
    await lease(['svc.graph.import', 'svc.of-another-release']);
    expect((await start('svc.of-another-release', 'k1')).json()).toMatchObject({ code: 'handler_missing' });
    expect((await start('svc.graph.import', 'k2')).json()).toMatchObject({ code: 'handler_missing' });
  });
});

describe('the added handlers of a process', () => {
  test('end with it; an accepted run is executed after the restart, as soon as its worker asks again', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-handlers-'));
    const first = await startService({ groups: ['execution'], folder });
    const before = callsOf(() => first);
    await before.lease(['refund.pay']);
    const accepted = (await before.start('refund.pay')).json<ExecutionRun>();
    expect(accepted.status).toBe('queued');
    await first.close();
    const second = await startService({ groups: ['execution'], folder });
    const after = callsOf(() => second);
    expect((await after.start('refund.pay', 'k2')).json()).toMatchObject({ code: 'handler_missing' });
    const same = await after.start('refund.pay');
    expect(same.json()).toMatchObject({ id: accepted.id, admission: { replayed: true } });
    const leased = await after.lease(['refund.pay']);
    expect([leased.status, leased.headers[unknown]]).toEqual([200, undefined]);
    expect(leased.json<ExecutionExternalWorkerLease>().run.id).toBe(accepted.id);
    expect((await after.start('refund.pay', 'k2')).json<ExecutionRun>().status).toBe('queued');
    await second.close();
    rmSync(folder, { recursive: true });
  });

  test('are its own: another process on the same store rejects a start until a worker asks there', async () => {
    const one = await startService({ groups: ['execution'] });
    const other = await startService({ groups: ['execution'], folder: one.folder });
    const [here, there] = [callsOf(() => one), callsOf(() => other)];
    await here.lease(['refund.pay']);
    expect((await there.start('refund.pay')).json()).toMatchObject({ code: 'handler_missing' });
    const run = (await here.start('refund.pay')).json<ExecutionRun>();
    const leased = (await there.lease(['refund.pay'])).json<ExecutionExternalWorkerLease>();
    expect(leased.run.id).toBe(run.id);
    expect((await there.start('refund.pay', 'k2')).json<ExecutionRun>().status).toBe('queued');
    await other.close();
    await one.close();
  });
});

describe('where handlers of workers are not accepted', () => {
  let service: RunningService;
  beforeAll(async () => {
    const key = 'ExecutionRuntime:AcceptHandlersOfWorkers';
    service = await startService({
      settings: { [key]: 'false', 'Server:LogLevel': 'warning' },
      groups: ['execution'],
    });
  });
  afterAll(() => service.close());
  const { start, lease } = callsOf(() => service);

  test('the answer and one log line name the handler and the setting', async () => {
    const answer = await lease(['invoice.render', 'refund, späte']);
    expect(answer.status).toBe(204);
    expect(answer.headers[unknown]).toBe('refund%2C%20sp%C3%A4te');
    expect((await lease(['refund, späte'])).headers[unknown]).toBe('refund%2C%20sp%C3%A4te');
    expect(namedIn(service)).toEqual(['refund, späte']);
    expect(service.lines.join()).toContain('add it to ExecutionRuntime:ExternalHandlers');
    expect((await lease(['invoice.render'])).headers[unknown]).toBeUndefined();
  });

  test('the answer to a start says where to name the handler', async () => {
    const { detail } = (await start('refund.pay')).json<{ detail: string }>();
    expect(detail).toContain('start a worker that names it, and add it to ExecutionRuntime:ExternalHandlers');
    await lease(['refund.pay']);
    expect((await start('refund.pay')).json()).toMatchObject({ code: 'handler_missing' });
  });
});

describe('odd names', () => {
  let service: RunningService;
  beforeAll(async () => {
    const key = 'ExecutionRuntime:AcceptHandlersOfWorkers';
    service = await startService({
      settings: { [key]: 'false', 'Server:LogLevel': 'warning' },
      groups: ['execution'],
    });
  });
  afterAll(() => service.close());
  const { lease } = callsOf(() => service);
  const many = (count: number, name: (at: number) => string) =>
    Array.from({ length: count }, (_, at) => name(at));

  test.each([
    ['more than 32', many(1_000, (at) => `h${at}`), '/handlerIds'],
    ['a line break', ['a\r\nSvc-Injected: 1'], '/handlerIds/0'],
    ['a control character', ['a\u0000'], '/handlerIds/0'],
    ['a lone surrogate', ['a\ud800'], 'malformed_request'],
    ['one twice', ['a', ' a '], '/handlerIds'],
  ])('%s: refused, and neither answered nor logged', async (_name, handlerIds, pointer) => {
    const before = namedIn(service).length;
    const answer = await lease(handlerIds);
    expect(answer.status).toBe(400);
    expect(answer.headers[unknown]).toBeUndefined();
    expect(answer.body).toContain(`"${pointer}"`);
    expect(namedIn(service)).toHaveLength(before);
  });

  test('names that differ in case alone are two', async () => {
    const asked = ['Invoice.render', 'INVOICE.RENDER', 'invoice.render'];
    expect((await lease(asked)).headers[unknown]).toBe('Invoice.render, INVOICE.RENDER');
  });

  test('a character that reverses the text around it is encoded, in the answer and in the log', async () => {
    const answer = await lease(['a\u202eb\u2028c']);
    expect(answer.headers[unknown]).toBe('a%E2%80%AEb%E2%80%A8c');
    const line = service.lines.at(-1) ?? '';
    expect(line).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
    expect(namedIn(service).at(-1)).toBe('a%E2%80%AEb\u2028c');
  });

  test('the field has at most 2,000 characters, and the log the lines of one caller', async () => {
    const asked = many(32, (at) => `${'漢'.repeat(100)}${at}`);
    const answer = await lease(asked);
    expect([answer.status, answer.headers[unknown]]).toEqual([
      204,
      `${'%E6%BC%A2'.repeat(100)}0, ${'%E6%BC%A2'.repeat(100)}1`,
    ]);
    await lease(many(32, (at) => `other${at}`));
    expect(namedIn(service)).toHaveLength(20);
  });
});
