import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EffectiveExecutionRuntimeSurface, ExecutionRun } from '../../contracts/generated/models.ts';
import { executionGrantSettings } from '../security/matrix-execution.ts';
import { type RunningService, startService } from '../support/service.ts';

/** The handlers that the workers of others name, as far as a caller learns of them. */

const unknown = 'svc-unknown-handlers';
const domain = 'project.example';

/** Product `narrow` may start `invoice.render` alone, and its worker may execute each handler. */
const grants = (
  [
    ['acme', 'wide', 'acme', []],
    ['globex', 'wide', 'globex', []],
    ['narrow', 'narrow', 'acme', []],
    ['listed', 'wide', 'acme', ['listed']],
    ['both', 'wide', 'acme', ['both.acme']],
    ['both', 'wide', 'globex', ['both.globex']],
  ] as const
).map(([name, product, tenant, handlers]) => {
  const operations = ['start_run', 'read_run', 'worker'] as const;
  return [
    `${name}@${domain}`,
    { product, tenants: [tenant], handlers: [...handlers], worker: `w-${name}`, operations: [...operations] },
  ] as const;
});

async function staged(accepts: boolean) {
  const service = await startService({
    groups: ['execution'],
    settings: {
      ...executionGrantSettings(grants, 'unused'),
      'Server:ExecutionAccess:AuthenticationMode': 'development-header',
      'Server:RequireApiKey': 'true',
      'Server:ApiKeys:0': 'a-key-of-some-length',
      'ExecutionRuntime:ProductPolicies:1:AllowedHandlerIds:0': 'invoice.render',
      'ExecutionRuntime:ExternalHandlers:1:HandlerId': 'secret.audit',
      'ExecutionRuntime:AcceptHandlersOfWorkers': String(accepts),
      'Server:LogLevel': 'warning',
    },
  });
  return service;
}

function callsOf(service: () => RunningService) {
  const call = (name: string, method: string, path: string, body?: object) =>
    service().call({
      method,
      path,
      headers: { 'X-Svc-Api-Key': 'a-key-of-some-length', 'X-Svc-Development-Identity': `${name}@${domain}` },
      ...(body && { body }),
    });
  const scopeOf = (name: string) => ({
    productId: name === 'narrow' ? 'narrow' : 'wide',
    tenantId: name === 'globex' ? 'globex' : 'acme',
  });
  return {
    lease: (name: string, handlerIds: readonly string[], workerId = `w-${name}`) =>
      call(name, 'POST', '/execution/workers/leases', { workerId, handlerIds }),
    start: (name: string, handlerId: string) =>
      call(name, 'POST', '/execution/runs', { handlerId, idempotencyKey: handlerId, scope: scopeOf(name) }),
    handlersOf: async (name: string) => {
      const query = new URLSearchParams(scopeOf(name)).toString();
      const answer = await call(name, 'GET', `/execution/runtime/effective?${query}`);
      return answer.json<EffectiveExecutionRuntimeSurface>().handlers.map(({ handlerId }) => handlerId);
    },
  };
}

describe('where handlers of workers are accepted', () => {
  let service: RunningService;
  beforeAll(async () => {
    service = await staged(true);
  });
  afterAll(() => service.close());
  const { lease, start, handlersOf } = callsOf(() => service);

  test('the worker of one tenant adds a handler that another neither sees nor starts', async () => {
    expect((await lease('acme', ['acme.merger'])).headers[unknown]).toBeUndefined();
    expect(await handlersOf('acme')).toEqual(['acme.merger', 'invoice.render', 'secret.audit']);
    expect(await handlersOf('globex')).toEqual(['invoice.render', 'secret.audit']);
    const [known, missing] = [await start('globex', 'acme.merger'), await start('globex', 'none')];
    expect([known.status, missing.status]).toEqual([400, 400]);
    const detail = ({ body }: { body: string }) => (JSON.parse(body) as { detail: string }).detail;
    expect(detail(known).replace('acme.merger', 'none')).toBe(detail(missing));
    expect((await start('acme', 'acme.merger')).json<ExecutionRun>().status).toBe('queued');
    // The other tenant's worker is answered as for a handler that it names first.
    expect((await lease('globex', ['acme.merger', 'globex.own'])).headers[unknown]).toBeUndefined();
    expect((await start('globex', 'acme.merger')).json<ExecutionRun>().status).toBe('queued');
  });

  test('a caller without the right adds nothing, and hears of nothing', async () => {
    const calls = [
      await lease('acme', ['intruder.one'], 'w-globex'),
      await lease('listed', ['intruder.one']),
      await lease('stranger', ['intruder.one']),
    ];
    expect(calls.map(({ status, headers }) => [status, headers[unknown]])).toEqual(
      calls.map(() => [403, undefined]),
    );
    expect(await handlersOf('acme')).not.toContain('intruder.one');
    expect(service.lines.join()).not.toContain('intruder.one');
  });

  test('the worker of two tenants adds a handler for the one whose grant names it', async () => {
    expect((await lease('both', ['both.acme', 'both.globex'])).headers[unknown]).toBeUndefined();
    const ofBoth = async (name: string) => (await handlersOf(name)).filter((id) => id.startsWith('both.'));
    expect([await ofBoth('acme'), await ofBoth('globex')]).toEqual([['both.acme'], ['both.globex']]);
  });

  test('a busy neighbour fills its own room alone', async () => {
    for (let call = 0; call < 4; call += 1)
      await lease(
        'globex',
        Array.from({ length: 32 }, (_, at) => `busy${call}-${at}`),
      );
    expect((await lease('globex', ['one-more'])).headers[unknown]).toBe('one-more');
    expect((await lease('acme', ['one-more'])).headers[unknown]).toBeUndefined();
  });
});

describe('where they are not accepted', () => {
  let service: RunningService;
  beforeAll(async () => {
    service = await staged(false);
  });
  afterAll(() => service.close());
  const { lease } = callsOf(() => service);

  test('a worker cannot find out which handlers other products have', async () => {
    const guessed = ['secret.audit', 'secret.none'];
    expect((await lease('narrow', guessed)).headers[unknown]).toBe('secret.audit, secret.none');
    expect((await lease('acme', guessed)).headers[unknown]).toBe('secret.none');
    expect((await lease('narrow', ['invoice.render'])).headers[unknown]).toBeUndefined();
  });

  test('the lines of one caller leave those of another', async () => {
    for (let call = 0; call < 4; call += 1)
      await lease(
        'globex',
        Array.from({ length: 32 }, (_, at) => `busy${call}-${at}`),
      );
    await lease('acme', ['acme.late']);
    const lines = service.lines.map((line) => JSON.parse(line) as { principal?: string; handlerId?: string });
    expect(lines.filter(({ principal }) => principal === `globex@${domain}`)).toHaveLength(20);
    expect(lines.some(({ handlerId }) => handlerId === 'acme.late')).toBe(true);
  });
});
