import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type OidcIssuer, startOidcIssuer } from '../../emulator/oidc-issuer.ts';
import { startTasksEmulator, type TasksEmulator } from '../../emulator/tasks/tasks-emulator.ts';
import { cases } from '../support/effort.ts';
import { hosted } from '../support/hosted.ts';

/** Callers of the hosted worker that are not the queue. */

const account = 'tasks-invoker@local.example';
const audience = 'http://127.0.0.1:9/tasks/execution';
const path = '/tasks/execution';
const plugin = `
let executed = 0;
export default {
  pluginId: 'p', name: 'p', version: '1.0.0',
  handlers: [{ handlerId: 'p.count', run: () => { executed += 1; return executed; } }],
};`;

let tasks: TasksEmulator;
let issuer: OidcIssuer;
let stranger: OidcIssuer;
let settings: Record<string, string>;
let worker: Awaited<ReturnType<typeof hosted>>;
let api: Awaited<ReturnType<typeof hosted>>;

beforeAll(async () => {
  [issuer, stranger] = await Promise.all([startOidcIssuer(), startOidcIssuer()]);
  // The queue takes every message and delivers none: the test delivers them itself.
  tasks = await startTasksEmulator({
    queues: [{ name: 'projects/demo-svc/locations/local/queues/svc-runs' }],
    faults: { lose: { probability: 1, seed: 1 } },
  });
  settings = {
    'ExecutionRuntime:Google:EmulatorHost': `${tasks.host}:${tasks.port}`,
    Environment: 'Production',
    'CanonicalStore:Enabled': 'false',
    'Server:Oidc:Issuers:0': issuer.issuer,
    'Server:Oidc:KeySetUrl': issuer.keySetUrl,
    'ExecutionRuntime:Google:ServiceAccountEmail': account,
    'ExecutionRuntime:ProductPolicies:0:ProductId': 'p',
    'Server:ExecutionAccess:AllowedAudiences:0': 'svc',
    'Server:ExecutionAccess:IdentityPolicies:0:Principal': 'app@local.example',
    'Server:ExecutionAccess:IdentityPolicies:0:ProductId': 'p',
    'Server:ExecutionAccess:IdentityPolicies:0:AllowedOperations:0': 'start_run',
    'Server:ExecutionAccess:IdentityPolicies:0:AllowedOperations:1': 'read_run',
    'Server:ExecutionAccess:IdentityPolicies:1:Principal': 'scheduler@local.example',
    'Server:ExecutionAccess:IdentityPolicies:1:ProductId': 'p',
    'Server:ExecutionAccess:IdentityPolicies:1:AllowedOperations:0': 'maintenance',
  };
  worker = await hosted({ target: 'worker', settings, plugin });
  api = await hosted({ target: 'execution', settings, plugin, folder: worker.folder });
});
afterAll(async () => {
  await api.close();
  await worker.close();
  await Promise.all([issuer.stop(), stranger.stop(), tasks.stop()]);
});

const bearer = async (claims: { email: string; audience: string }, from = issuer) => ({
  authorization: `Bearer ${await from.mint(claims)}`,
});
const dispatch = { 'x-svc-execution-dispatch': '1' };
const queueFields = {
  'x-cloudtasks-queuename': 'svc-runs',
  'x-cloudtasks-taskname': 'a',
  'x-cloudtasks-taskretrycount': '0',
  'user-agent': 'Google-Cloud-Tasks',
};
const deliver = (headers: Record<string, string>, body: unknown = { runId: '1', reason: 'run_ready' }) =>
  worker.call({ method: 'POST', path, headers: { ...dispatch, ...headers }, body });

async function startedRun(tenantId = 't'): Promise<string> {
  const answer = await api.call({
    method: 'POST',
    path: '/execution/runs',
    headers: await bearer({ email: 'app@local.example', audience: 'svc' }),
    body: { handlerId: 'p.count', scope: { productId: 'p', tenantId } },
  });
  expect(answer.status).toBe(202);
  return answer.json<{ id: string }>().id;
}

async function statusOf(runId: string): Promise<string> {
  const headers = await bearer({ email: 'app@local.example', audience: 'svc' });
  const answer = await api.call({ method: 'GET', path: `/execution/runs/${runId}`, headers });
  return answer.json<{ status: string }>().status;
}

describe('N01: a stranger posts to the worker', () => {
  const strangers: readonly (readonly [string, () => Promise<Record<string, string>>])[] = [
    ['without a token', async () => ({})],
    ['with the header fields of the queue only', async () => queueFields],
    ['with the token of another account', () => bearer({ email: 'app@local.example', audience })],
    ['with a token for something else', () => bearer({ email: account, audience: 'svc' })],
    ['with a token of another issuer', () => bearer({ email: account, audience }, stranger)],
    ['with a word for a token', async () => ({ authorization: 'Bearer a.b.c' })],
    [
      'with the token of an operator, in both headers',
      async () => {
        const { authorization } = await bearer({ email: 'scheduler@local.example', audience });
        return { authorization, 'x-serverless-authorization': authorization };
      },
    ],
  ];
  test.each(strangers)('%s', async (_name, headersOf) => {
    const runId = await startedRun();
    const answer = await deliver({ ...queueFields, ...(await headersOf()) }, { runId });
    expect(answer.status).toBe(401);
    expect(await statusOf(runId)).toBe('queued');
  });

  test('the queue itself is let in', async () => {
    const runId = await startedRun();
    const answer = await deliver(await bearer({ email: account, audience }), { runId });
    expect(answer.status).toBe(204);
    expect(await statusOf(runId)).toBe('succeeded');
  });

  test('the account of the queue has no right but to deliver', async () => {
    const runId = await startedRun();
    for (const aimed of ['svc', audience]) {
      const headers = await bearer({ email: account, audience: aimed });
      const answer = await api.call({ method: 'GET', path: `/execution/runs/${runId}`, headers });
      expect([401, 403]).toContain(answer.status);
    }
  });
});

describe('N02: a message about an unknown run', () => {
  test('is answered 204, so that the queue does not repeat it, and changes nothing', async () => {
    const headers = await bearer({ email: account, audience });
    for (const runId of ['00822868566016000115', 'x', randomUUID(), '../../etc', '0'.repeat(160)])
      expect((await deliver(headers, { runId })).status).toBe(204);
  });

  test('a malformed message is refused with its fault', async () => {
    const headers = await bearer({ email: account, audience });
    for (const body of [{}, { runId: 1 }, { runId: '' }, [], 'x', { runId: 'a\u0000b' }])
      expect((await deliver(headers, body)).status).toBe(400);
    const bare = await worker.call({ method: 'POST', path, headers, body: { runId: '1' } });
    expect(bare.status).toBe(400);
    const large = await deliver(headers, { runId: '1', more: 'x'.repeat(20_000) });
    expect(large.status).toBe(413);
  });
});

describe('N03: a message that names the owner of a run, or the work to do', () => {
  test('is believed in nothing but the id', async () => {
    const runId = await startedRun('theirs');
    const headers = await bearer({ email: account, audience });
    const body = {
      runId,
      reason: 'run_ready',
      handlerId: 'p.other',
      payload: { evil: true },
      scope: { productId: 'q', tenantId: 'ours' },
      status: 'succeeded',
    };
    expect((await deliver(headers, body)).status).toBe(204);
    const app = await bearer({ email: 'app@local.example', audience: 'svc' });
    const run = (await api.call({ method: 'GET', path: `/execution/runs/${runId}`, headers: app })).json();
    expect(run).toMatchObject({
      handlerId: 'p.count',
      payload: null,
      scope: { productId: 'p', tenantId: 'theirs' },
    });
  });
});

describe('N04: the worker does nothing in the name of a message', () => {
  test('of twenty deliveries of one run, at once, one executes it', async () => {
    const runId = await startedRun();
    const headers = await bearer({ email: account, audience });
    const answers = await Promise.all(Array.from({ length: 20 }, () => deliver(headers, { runId })));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([204]));
    expect(await statusOf(runId)).toBe('succeeded');
    const app = await bearer({ email: 'app@local.example', audience: 'svc' });
    const run = (await api.call({ method: 'GET', path: `/execution/runs/${runId}`, headers: app })).json<{
      attempt: number;
    }>();
    expect(run.attempt).toBe(1);
  });

  test('a run that has ended, is held, or is not due stays as it is', async () => {
    const runId = await startedRun();
    const headers = await bearer({ email: account, audience });
    await deliver(headers, { runId });
    const app = await bearer({ email: 'app@local.example', audience: 'svc' });
    const get = async (id: string) =>
      (await api.call({ method: 'GET', path: `/execution/runs/${id}`, headers: app })).json();
    const ended = await get(runId);
    for (const reason of ['run_ready', 'timer_due', 'external_event', 'lease_expired'])
      expect((await deliver(headers, { runId, reason })).status).toBe(204);
    expect(await get(runId)).toEqual(ended);
    const scheduledAtUtc = new Date(Date.now() + 3_600_000).toISOString();
    const body = { handlerId: 'p.count', scope: { productId: 'p', tenantId: 't' }, scheduledAtUtc };
    const answer = await api.call({ method: 'POST', path: '/execution/runs', headers: app, body });
    const later = answer.json<{ id: string }>().id;
    const waiting = await get(later);
    expect((await deliver(headers, { runId: later, reason: 'timer_due' })).status).toBe(204);
    expect(await get(later)).toEqual(waiting);
  });
});

test('N05: forged messages reach no store', async () => {
  const alone = await hosted({ target: 'worker', settings, plugin });
  const { authorization } = await bearer({ email: account, audience }, stranger);
  const count = cases(2_000);
  for (let sent = 0; sent < count; sent += 100) {
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        alone.call({
          method: 'POST',
          path,
          headers: index % 2 === 0 ? dispatch : { ...dispatch, authorization },
          body: { runId: randomUUID() },
        }),
      ),
    );
    for (const { status } of answers) expect(status).toBe(401);
  }
  // The first call opens the store.
  expect(existsSync(join(alone.folder, 'svc.canonical.sqlite'))).toBe(false);
  await alone.close();
});
