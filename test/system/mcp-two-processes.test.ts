import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isOlder, type Revision, revisions } from '../../functions/mcp/revisions.ts';
import { valuesOf } from '../mcp/any-revision.ts';
import { initializeParams, olderBody, olderFields } from '../mcp/older-support.ts';
import { bodyOf, fieldsOf, TASKS, withCapabilities } from '../mcp/support.ts';
import { type Relay, startRelay } from '../support/relay.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';

/** Two processes over one database: a client of any revision may send each request to another one. */

type Params = Readonly<Record<string, unknown>>;

const NEWEST = '2026-07-28';
const folder = mkdtempSync(join(tmpdir(), 'svc-mcp-two-'));
const servers: ServerProcess[] = [];
let relay: Relay;

const record = (id: string) => ({ id, partitionKey: 'p', type: 'article', metadata: {}, content: {} });

const start = () =>
  startServer({ SVC_DATA_DIR: join(folder, 'data') }, [
    'Mcp:Enabled=true',
    'Mcp:RateLimit:PermitLimit=100000',
    'Mcp:EnabledOperations:0=startRecordBatchUpsertJob',
    'Mcp:EnabledOperations:1=startExecutionRun',
    'ExecutionRuntime:ExternalHandlers:0:HandlerId=invoice.render',
  ]);

beforeAll(async () => {
  servers.push(await start(), await start());
  relay = await startRelay(servers);
  const created = await fetch(`${relay.address}/collections`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: 'articles' }),
  });
  const path = `${relay.address}${created.headers.get('location')}?waitSeconds=20`;
  expect(await (await fetch(path)).json()).toMatchObject({ status: 'succeeded' });
  await endOf(await startJob(['a', 'b', 'c']));
});

afterAll(async () => {
  await relay.close();
  for (const server of servers) await server.kill();
  rmSync(folder, { recursive: true, force: true });
});

async function post(address: string, body: object, headers: Readonly<Record<string, string>>) {
  const sent = { 'Content-Type': 'application/json', 'X-Correlation-ID': 'same', ...headers };
  const response = await fetch(`${address}/mcp`, {
    method: 'POST',
    headers: sent,
    body: JSON.stringify(body),
  });
  expect(Object.fromEntries(response.headers)).not.toHaveProperty('mcp-session-id');
  return { status: response.status, text: await response.text() };
}

/** A request of a revision to the next process. */
async function ask(revision: Revision, method: string, params: Params = {}, to = relay.address) {
  const able = { _meta: withCapabilities(TASKS), ...params };
  const { text } = isOlder(revision)
    ? await post(to, olderBody(method, params), olderFields(revision))
    : await post(to, bodyOf(method, able), fieldsOf(method, able));
  const { result, error } = JSON.parse(text) as { result?: Params; error?: object };
  if (result === undefined) throw new Error(`${method} was answered with ${JSON.stringify(error)}`);
  return result;
}

async function startJob(ids: readonly string[]): Promise<string> {
  const name = 'svc_records_start_batch_upsert_job_v1';
  const given = { collection: 'articles', records: ids.map(record) };
  const { taskId } = await ask(NEWEST, 'tools/call', { name, arguments: given });
  return String(taskId);
}

/** Looks at the task from one process after the other until it has ended. */
async function endOf(taskId: string): Promise<Params> {
  for (;;) {
    const task = await ask(NEWEST, 'tasks/get', { taskId });
    if (task['status'] !== 'working') return task;
  }
}

describe.each(revisions)('a client of %s', (revision) => {
  const handshake = isOlder(revision) ? 'initialize' : 'server/discover';
  const greeting = isOlder(revision) ? initializeParams(revision) : {};
  const query = { collection: 'articles', partitionKeys: ['p'], orderBy: [{ path: '/id' }], limit: 2 };

  test('begins at one process and goes on at the other', async () => {
    const before = [...relay.counts];
    const begun = await ask(revision, handshake, greeting);
    if (isOlder(revision)) {
      expect(begun).toMatchObject({ protocolVersion: revision });
      const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' };
      const notified = await post(relay.address, initialized, olderFields(revision));
      expect(notified).toEqual({ status: 202, text: '' });
      expect(await ask(revision, 'ping')).toEqual({});
    }
    const tools = (await ask(revision, 'tools/list'))['tools'] as readonly { name: string }[];
    expect(tools.map(({ name }) => name)).toContain('svc_records_query_v1');
    const calls = Array.from({ length: 4 }, () =>
      ask(revision, 'tools/call', { name: 'svc_collections_list_v1', arguments: {} }),
    );
    for (const answer of await Promise.all(calls)) expect(JSON.stringify(answer)).toContain('articles');
    const got = relay.counts.map((count, at) => count - (before[at] ?? 0));
    expect(Math.abs((got[0] ?? 0) - (got[1] ?? 0))).toBeLessThanOrEqual(1);
  });

  test('gets the same answer from both, and reads on at the other', async () => {
    for (const [method, params] of [
      [handshake, greeting],
      ['tools/list', {}],
      ['resources/list', {}],
      ['resources/templates/list', {}],
      ['tools/call', { name: 'svc_records_query_v1', arguments: query }],
      ['tools/call', { name: 'svc_records_get_v1', arguments: { collection: 'articles' } }],
    ] as const) {
      const [one, other] = await Promise.all(
        servers.map(({ address }) => ask(revision, method, params, address)),
      );
      expect(one, method).toEqual(other);
    }
    const { continuationToken } = await page(revision, { ...query, limit: 1 });
    expect(await page(revision, { ...query, continuationToken })).toMatchObject({ items: [{ id: 'b' }, {}] });
  });
});

async function page(revision: Revision, given: Params): Promise<Params> {
  return valuesOf(
    await ask(revision, 'tools/call', { name: 'svc_records_query_v1', arguments: given }),
  ) as Params;
}

describe('tasks', () => {
  test('start at one process and end at the other', async () => {
    const ended = await endOf(await startJob(['d']));
    expect(ended).toMatchObject({ status: 'completed', result: { isError: false } });
  });

  test('are cancelled by another process than the one that started them', async () => {
    const [one, other] = servers.map(({ address }) => address) as [string, string];
    const started = { name: 'svc_execution_start_run_v1', arguments: { handlerId: 'invoice.render' } };
    const { taskId } = await ask(NEWEST, 'tools/call', started, one);
    expect(await ask(NEWEST, 'tasks/get', { taskId }, other)).toMatchObject({ status: 'working' });
    await ask(NEWEST, 'tasks/cancel', { taskId }, other);
    expect(await ask(NEWEST, 'tasks/get', { taskId }, one)).toMatchObject({ status: 'cancelled' });
  });
});

/** The official client; by default it speaks an older revision. */
async function connected(options: ConstructorParameters<typeof Client>[1] = {}): Promise<Client> {
  const client = new Client({ name: 'programs', version: '1' }, options);
  await client.connect(new StreamableHTTPClientTransport(new URL(`${relay.address}/mcp`)));
  return client;
}

test('official clients go on after the process that they began with has ended', async () => {
  const name = 'svc_records_query_v1';
  const idsBy = async (client: Client) => {
    const { structuredContent } = await client.callTool({ name, arguments: { collection: 'articles' } });
    return (structuredContent as { items: { id: string }[] }).items.map(({ id }) => id);
  };
  const pinned = { versionNegotiation: { mode: { pin: NEWEST } } } as const;
  const clients = await Promise.all([connected(), connected(pinned)]);
  const before = await Promise.all(clients.map(idsBy));
  for (const at of servers.keys()) {
    const { tools } = (await clients[at]?.listTools()) ?? { tools: [] };
    expect(tools.map((tool) => tool.name)).toContain(name);
    expect(await servers[at]?.stop()).toBe(0);
    servers[at] = await start();
    expect(await Promise.all(clients.map(idsBy))).toEqual(before);
  }
  for (const client of clients) await client.close();
});
