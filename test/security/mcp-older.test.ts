import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  initializeParams,
  OLDER,
  olderAsk,
  olderBody,
  olderFields,
  olderTools,
} from '../mcp/older-support.ts';
import { BATCH, CANCEL, GET } from '../mcp/plain-support.ts';
import {
  createCollection,
  IDENTITY,
  type McpService,
  namesOf,
  startMcpService,
  taskOperations,
} from '../mcp/service-stage.ts';
import { messagesOf, TASKS } from '../mcp/support.ts';

/** Attacks that only older revisions invite: sessions, tools for tasks, and half of the marks of the newest revision. */

let service: McpService;

const as = (principal: string) => ({ [IDENTITY]: principal });
const record = (id: string, text: string) => ({
  id,
  partitionKey: 'p',
  type: 'article',
  metadata: {},
  content: { text },
});

beforeAll(async () => {
  service = await startMcpService();
  await service.start();
  await createCollection(service, 'writer', 'articles');
  await createCollection(service, 'neighbour', 'secrets');
});

afterAll(() => service.close());

describe.each(OLDER)('under %s', (revision) => {
  const ask = (
    principal: string,
    method: string,
    params: object = {},
    headers: Record<string, string> = {},
  ) => olderAsk(service.chain, revision, method, { ...params }, { ...as(principal), ...headers });
  const call = (principal: string, name: string, given: object, headers: Record<string, string> = {}) =>
    ask(principal, 'tools/call', { name, arguments: given }, headers);

  test('no session is made, fixed or stolen', async () => {
    const session = { 'Mcp-Session-Id': 'session-of-the-neighbour', 'Last-Event-ID': '1' };
    const headers = { ...olderFields(revision), ...as('neighbour'), ...session };
    const body = olderBody('initialize', initializeParams(revision));
    const response = await service.send({ body, headers });
    expect(Object.keys(response.headers)).not.toContain('mcp-session-id');
    expect(response.body).not.toContain('session-of');
    // The same id with another credential: the caller stays the one of the credential.
    const listed = await call('writer', 'svc_collections_list_v1', {}, session);
    expect(JSON.stringify(listed.result)).toContain('articles');
    expect(JSON.stringify(listed.result)).not.toContain('secrets');
    const alone = await service.send({
      body: olderBody('ping'),
      headers: { ...olderFields(revision), ...session },
    });
    expect(alone.status).toBe(401);
    for (const method of ['GET', 'DELETE'])
      expect((await service.send({ method, headers })).status, method).toBe(405);
  });

  test('a caller sees no more tools than under the newest revision, but the two that go on with its own work', async () => {
    for (const principal of ['reader', 'writer', 'runner', 'stranger']) {
      const names = (await olderTools(service.chain, revision, as(principal))).map(({ name }) => name);
      const newest = await namesOf(service, principal);
      const startsWork = newest.some((name) => name.includes('_start_'));
      expect(names.filter((name) => !newest.includes(name)).sort()).toEqual(startsWork ? [CANCEL, GET] : []);
    }
    const { error } = await call('stranger', 'svc_collections_list_v1', {});
    expect(error?.code).toBe(-32602);
  });

  test('no capability in the request opens tasks', async () => {
    expect(taskOperations.length).toBeGreaterThan(0);
    const given = { collection: 'articles', records: [record(`x-${revision}`, 'y')] };
    const meta = { 'io.modelcontextprotocol/clientCapabilities': TASKS };
    const params = { name: BATCH, arguments: given, _meta: meta, task: { ttl: 1 } };
    const { result } = await ask('writer', 'tools/call', params);
    expect(result).toMatchObject({ isError: false, content: [{ type: 'text' }] });
    for (const name of ['resultType', 'task', 'taskId']) expect(result).not.toHaveProperty(name);
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/result', 'tasks/list'])
      expect((await ask('writer', method, { taskId: 'x', _meta: meta })).error?.code).toBe(-32601);
  });
});

test('a client cannot leave the rules of the newest revision by half of its marks', async () => {
  const version = 'io.modelcontextprotocol/protocolVersion';
  const meta = { [version]: '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} };
  const body = olderBody('tools/call', { name: 'svc_collections_list_v1', arguments: {}, _meta: meta });
  const codeOf = async (headers: Record<string, string>, sent: object = body) => {
    const response = await service.send({ body: sent, headers: { ...as('writer'), ...headers } });
    const [message] = messagesOf(response);
    return [response.status, (message?.['error'] as { code?: number } | undefined)?.code];
  };
  expect(await codeOf({})).toEqual([400, -32020]);
  expect(await codeOf({ 'MCP-Protocol-Version': '2025-11-25' })).toEqual([400, -32020]);
  // Without the mirrored fields of the newest revision.
  expect(await codeOf({ 'MCP-Protocol-Version': '2026-07-28' })).toEqual([400, -32020]);
  const bare = olderBody('tools/call', { name: 'svc_collections_list_v1', arguments: {} });
  expect(await codeOf({ 'MCP-Protocol-Version': '2026-07-28' }, bare)).toEqual([400, -32602]);
});
