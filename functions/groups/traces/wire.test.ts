import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningService, startService } from '../../../test/support/service.ts';
import { machine } from '../../compose/machine.ts';
import { DEFAULT_SPACE } from '../../identity/record-access.ts';
import type { JsonObject } from '../../kernel/canonical-json.ts';
import type { RecordStore } from '../../store/port.ts';
import { createTraceParts, type TraceParts } from '../../traces/parts.ts';
import { writeTrace } from '../../traces/write-trace.ts';

/** Traces over HTTP. Every answer is checked against its model. */

let service: RunningService;
let parts: TraceParts;

beforeAll(async () => {
  const opened: RecordStore[] = [];
  service = await startService({
    watchStore(store) {
      opened.push(store);
      return store;
    },
  });
  // Any call opens the store.
  expect((await call('GET', '/traces')).text).toBe('[]');
  const [store] = opened;
  if (store === undefined) throw new Error('no store');
  const limits = { readsPerCallMax: 1_000, answerBytesMax: 1_000_000, retentionMs: null };
  parts = createTraceParts({ store: () => Promise.resolve(store), world: machine, limits });
});
afterAll(() => service.close());

async function call(method: string, path: string, body?: unknown) {
  const answer = await service.call({ method, path, body });
  const json = answer.body === '' ? null : answer.json<Record<string, unknown>>();
  return { status: answer.status, text: answer.body, headers: new Headers(answer.headers), json };
}

let written = 0;
/** Writes a trace of the operation and answers its id. */
async function write(operation: string, own: { request?: JsonObject; resultSummary?: JsonObject } = {}) {
  written += 1;
  const id = `trace-${written}`;
  const content = { request: { provider: 'local' }, resultSummary: { status: 'Succeeded' }, ...own };
  const times = { startedAt: Date.now(), durationMs: 1.5 };
  await writeTrace(parts, DEFAULT_SPACE, { id, operation, adapter: 'local', ...content, ...times });
  return id;
}

const prune = (body: object) => call('POST', '/traces/prune', body);

describe('listTraces, getTrace and summarizeTraces', () => {
  test('a trace is listed, read and counted', async () => {
    const id = await write('provider.run');
    const { json } = await call('GET', `/traces/${id}`);
    expect(json).toMatchObject({ id, operation: 'provider.run', adapter: 'local', durationMs: 1.5 });
    const listed = await call('GET', '/traces?operation=provider.run&limit=5000');
    expect(listed.json).toEqual([json]);
    expect(listed.headers.get('svc-truncated')).toBeNull();
    const summary = await call('GET', '/traces/summary?operation=provider.run');
    const { createdAt } = json ?? {};
    expect(summary.json).toMatchObject({
      operation: 'provider.run',
      totalCount: 1,
      statusCounts: { Succeeded: 1 },
      providerCounts: { local: 1 },
      operations: [{ operation: 'provider.run', count: 1, firstCreatedAt: createdAt, adapters: ['local'] }],
    });
  });

  test('a trace that is not there answers 404, and an operation without traces an empty list', async () => {
    expect((await call('GET', '/traces/absent')).status).toBe(404);
    expect((await call('GET', '/traces?operation=absent')).text).toBe('[]');
    expect((await call('GET', '/traces/summary?operation=absent')).json).toMatchObject({
      operation: 'absent',
      totalCount: 0,
      operations: [],
    });
  });

  test.each(['limit=0', 'limit=5001', 'limit=1.5', 'limit=x', 'operation=', 'limit=1&limit=2'])(
    'a list with %s is refused',
    async (query) => {
      expect((await call('GET', `/traces?${query}`)).status).toBe(400);
    },
  );

  test('a member of 1 MB is cut, and the trace says so', async () => {
    const id = await write('large', { request: { text: 'x'.repeat(1_048_576) } });
    const { text } = await call('GET', `/traces/${id}`);
    expect(text.length).toBeLessThan(66_000);
    expect(text).toContain('[cut: 1044480 characters]');
  });

  test('a value that holds itself is cut where it is too deep', async () => {
    const cycle: Record<string, unknown> = { status: 'Succeeded' };
    cycle['again'] = cycle;
    const id = await write('cycle', { resultSummary: cycle as JsonObject });
    expect((await call('GET', `/traces/${id}`)).text).toContain('[cut: too deep]');
  });
});

describe('pruneTraces', () => {
  test('tells what it would remove, and removes it', async () => {
    const ids = [await write('pruned'), await write('pruned'), await write('pruned')];
    const request = { operation: 'pruned', keepLatest: 1, limit: 1 };
    const listed = await call('GET', '/traces?operation=pruned');
    const newestFirst = (listed.json as unknown as { id: string }[]).map(({ id }) => id);
    expect([...newestFirst].sort()).toEqual(ids);
    expect((await prune({ ...request, dryRun: true })).json).toEqual({
      ...request,
      olderThan: null,
      dryRun: true,
      matchedCount: 1,
      deletedCount: 0,
      matchedIds: [newestFirst[1]],
      deletedIds: [],
    });
    expect((await prune(request)).json).toMatchObject({ dryRun: false, deletedIds: [newestFirst[1]] });
    const olderThan = '2999-01-01T00:00:00Z';
    expect((await prune({ operation: 'pruned', olderThan })).json).toMatchObject({
      olderThan,
      keepLatest: null,
      deletedCount: 2,
    });
    expect((await call('GET', '/traces?operation=pruned')).text).toBe('[]');
  });

  test.each([
    ['no condition', {}],
    ['conditions of null', { operation: null, olderThan: null, keepLatest: null, dryRun: null }],
    ['a limit and no condition', { limit: 1, dryRun: true }],
    ['a negative keepLatest', { keepLatest: -1 }],
    ['a limit of 0', { keepLatest: 0, limit: 0 }],
    ['a limit of 5,001', { keepLatest: 0, limit: 5_001 }],
    ['a day without a time', { olderThan: '2026-01-01' }],
    ['a member that does not exist', { keepLatest: 0, keepOldest: 1 }],
  ])('a prune with %s is refused and removes nothing', async (_, request) => {
    const id = await write('kept');
    expect((await prune(request)).status).toBe(400);
    expect((await call('GET', `/traces/${id}`)).status).toBe(200);
  });

  test('a prune that would pass over too many traces is refused', async () => {
    const { status, json } = await prune({ keepLatest: 2_000_000_000 });
    expect([status, json?.['code']]).toEqual([400, 'query_budget_exceeded']);
  });
});

describe('exportTraces', () => {
  test('holds the traces as they are, and names what may be a secret', async () => {
    const id = await write('exported', {
      request: { 'X-Api-Key': 'k-1', headers: [{ note: 'Bearer abc' }] },
      resultSummary: { client_secret: { value: 's' }, tokens: 3 },
    });
    const { json } = await call('POST', '/traces/export', { operation: 'exported' });
    expect(json).toMatchObject({
      formatVersion: 'svc.trace-export.v1',
      operation: 'exported',
      limit: 100,
      traceCount: 1,
      warningCount: 3,
      warnings: [
        { traceId: id, location: '/request/X-Api-Key', reason: 'sensitive_field_name' },
        { traceId: id, location: '/request/headers/0/note', reason: 'bearer_token_value' },
        { traceId: id, location: '/resultSummary/client_secret', reason: 'sensitive_field_name' },
      ],
    });
    expect(json?.['traces']).toEqual([(await call('GET', `/traces/${id}`)).json]);
    const again = await call('POST', '/traces/export', { operation: 'exported' });
    expect(again.json?.['contentHash']).toBe(json?.['contentHash']);
    const strict = await call('POST', '/traces/export', { operation: 'exported', failOnUnsafeContent: true });
    expect([strict.status, strict.json?.['code']]).toEqual([400, 'validation_failed']);
    expect(strict.text).not.toContain('k-1');
  });

  test('a trace with more places than an export names is refused', async () => {
    const member = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`${at}`, { token: 1 }]));
    for (let at = 0; at < 3; at += 1) await write('unsafe', { request: { tokens: Object.values(member) } });
    const refused = await call('POST', '/traces/export', { operation: 'unsafe' });
    expect([refused.status, refused.json?.['code']]).toEqual([400, 'limit_exceeded']);
    expect((await call('POST', '/traces/export', { operation: 'unsafe', limit: 1 })).status).toBe(200);
  });
});
