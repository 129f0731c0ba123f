import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ExecutionExternalWorkerLease, ExecutionRun } from '../../contracts/generated/models.ts';
import { type RunningService, startService } from '../support/service.ts';

const unknown = 'svc-unknown-handlers';

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

  test('the answer and one log line name the handler and the setting, and the first answer does not wait', async () => {
    // A call that waited would outlast the test.
    const answer = await lease(['invoice.render', 'refund, späte'], { waitSeconds: 20 });
    expect(answer.status).toBe(204);
    expect(answer.headers[unknown]).toBe('refund%2C%20sp%C3%A4te');
    expect((await lease(['refund, späte'])).headers[unknown]).toBe('refund%2C%20sp%C3%A4te');
    const lines = service.lines.filter((line) => line.includes('asks for runs of'));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('ExecutionRuntime:ExternalHandlers');
    expect((await lease(['invoice.render'])).headers[unknown]).toBeUndefined();
  });

  test('the answer to a start says where to name the handler', async () => {
    const { detail } = (await start('refund.pay')).json<{ detail: string }>();
    expect(detail).toContain('start a worker that names it, and add it to ExecutionRuntime:ExternalHandlers');
    await lease(['refund.pay']);
    expect((await start('refund.pay')).json()).toMatchObject({ code: 'handler_missing' });
  });
});
