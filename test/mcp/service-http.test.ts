import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type InjectedRequest } from '../../functions/http/host-inject.ts';
import { callTool, IDENTITY, type McpService, startMcpService } from './service-stage.ts';
import { bodyOf, fieldsOf, TASKS, withCapabilities } from './support.ts';

/** HTTP checks before the protocol: the credential, the origin page, the sizes and the rate. */

let service: McpService;

const list = { body: bodyOf('tools/list'), headers: { ...fieldsOf('tools/list'), [IDENTITY]: 'reader' } };
const discover = (more: Record<string, string>) => ({
  body: bodyOf('server/discover'),
  headers: { ...fieldsOf('server/discover'), [IDENTITY]: 'reader', ...more },
});

beforeAll(async () => {
  service = await startMcpService({
    settings: {
      'Mcp:BodyBytesMax': '4096',
      'Mcp:HeaderCountMax': '20',
      'Mcp:HeaderBytesMax': '2048',
      'Mcp:ProtectedResource:Resource': 'https://api.example.com/mcp',
      'Mcp:ProtectedResource:AuthorizationServers:0': 'https://issuer.example.com',
      'Mcp:ProtectedResource:ScopesSupported:0': 'records.read',
      'Cors:AllowedOrigins:0': 'https://app.example.com',
    },
  });
});

afterAll(() => service.close());

test('the endpoint is off by default', async () => {
  const off = await startMcpService({ settings: { 'Mcp:Enabled': 'false' } });
  expect((await off.send(list)).status).toBe(404);
  await off.close();
});

describe('a caller without a credential', () => {
  test('is refused with 401, and learns the issuer of tokens', async () => {
    const { headers: _headers, ...bare } = list;
    const answer = await service.send({ ...bare, headers: fieldsOf('tools/list') });
    expect(answer.status).toBe(401);
    expect(answer.headers['www-authenticate']).toBe(
      'Bearer realm="svc", resource_metadata="https://api.example.com/.well-known/oauth-protected-resource/mcp", scope="records.read"',
    );
    expect(answer.json<{ code: string }>().code).toBe('unauthenticated');
  });

  test('reads the metadata of the endpoint', async () => {
    const path = '/.well-known/oauth-protected-resource/mcp';
    const answer = await service.call({ method: 'GET', path });
    expect(answer.status).toBe(200);
    expect(answer.json()).toEqual({
      resource: 'https://api.example.com/mcp',
      authorization_servers: ['https://issuer.example.com'],
      scopes_supported: ['records.read'],
      bearer_methods_supported: ['header'],
    });
    expect((await service.call({ method: 'POST', path })).headers['allow']).toBe('GET, HEAD');
    const asked = await service.call({ method: 'GET', path: `${path}?any=1` });
    expect([asked.status, asked.body]).toEqual([200, answer.body]);
  });

  test('finds no metadata where none is configured, and a bare challenge', async () => {
    const plain = await startMcpService();
    const path = '/.well-known/oauth-protected-resource/mcp';
    expect((await plain.call({ method: 'GET', path })).status).toBe(404);
    const { status, headers } = await plain.send({ body: bodyOf('tools/list') });
    expect([status, headers['www-authenticate']]).toEqual([401, 'Bearer realm="svc"']);
    await plain.close();
  });

  test('is refused before its body is read', async () => {
    let isRead = false;
    async function* body() {
      isRead = true;
      yield Buffer.from('{}');
    }
    const headers = { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' };
    expect((await service.send({ body: body(), headers })).status).toBe(401);
    expect(isRead).toBe(false);
  });
});

describe('a page', () => {
  test.each(['https://evil.example', 'null', 'https://app.example.com.evil.example'])(
    'of the origin %s is refused with 403',
    async (Origin) => expect((await service.send(discover({ Origin }))).status).toBe(403),
  );

  test('of an allowed origin may call, after its preflight', async () => {
    const Origin = 'https://app.example.com';
    const answer = await service.send(discover({ Origin }));
    expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([200, Origin]);
    const asked = {
      Origin,
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'mcp-method, mcp-protocol-version',
    };
    const preflight = await service.send({ method: 'OPTIONS', headers: asked });
    expect(preflight.status).toBe(204);
    expect(preflight.headers['access-control-allow-origin']).toBe(Origin);
    expect(preflight.headers['access-control-allow-headers']).toBe('mcp-method, mcp-protocol-version');
  });

  test('of an allowed origin may read the issuer of tokens', async () => {
    const Origin = 'https://app.example.com';
    const { status, headers } = await service.send({
      body: bodyOf('tools/list'),
      headers: { ...fieldsOf('tools/list'), Origin },
    });
    expect([status, headers['access-control-allow-origin']]).toEqual([401, Origin]);
    expect(headers['www-authenticate']).toContain('resource_metadata=');
    expect(headers['access-control-expose-headers']?.split(', ')).toContain('WWW-Authenticate');
  });

  test('cannot reach an endpoint of this machine by a foreign name', async () => {
    expect((await service.send(discover({ Host: 'rebound.example' }))).status).toBe(403);
    expect((await service.send(discover({ Host: 'localhost:5220' }))).status).toBe(200);
  });
});

describe('a message', () => {
  test.each(['GET', 'DELETE', 'PUT', 'OPTIONS'])('with the method %s is refused with 405', async (method) => {
    const { status, headers } = await service.send({ method, headers: { [IDENTITY]: 'reader' } });
    expect([status, headers['allow']]).toEqual([405, 'POST']);
  });

  test('of another type is refused with 415', async () => {
    expect((await service.send(discover({ 'Content-Type': 'text/plain' }))).status).toBe(415);
    expect((await service.send(discover({ 'Content-Encoding': 'gzip' }))).status).toBe(415);
  });

  test('over the limit is refused with 413, whether its length is declared or counted', async () => {
    const long = { ...list, body: bodyOf('tools/list', { cursor: 'x'.repeat(5_000) }) };
    expect((await service.send(long)).status).toBe(413);
    async function* chunks() {
      for (let at = 0; at < 5; at += 1) yield Buffer.alloc(1_024, 0x20);
    }
    const headers = {
      ...list.headers,
      'Content-Type': 'application/json',
      'Transfer-Encoding': 'chunked',
    };
    const { status, headers: answered } = await service.send({ headers, body: chunks() });
    expect(status).toBe(413);
    expect(answered['content-type']).toBe('application/problem+json');
  });

  test('with too many or too large header fields is refused with 431', async () => {
    const many = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`X-A-${at}`, 'a']));
    expect((await service.send(discover(many))).status).toBe(431);
    expect((await service.send(discover({ 'X-Long': 'a'.repeat(2_100) }))).status).toBe(431);
    expect((await service.send(discover({ 'X-Short': 'a' }))).status).toBe(200);
  });

  test('with a credential that occurs twice is refused', async () => {
    const headers = [...Object.entries(list.headers), [IDENTITY, 'writer']] as [string, string][];
    expect((await service.send({ ...list, headers })).status).toBe(400);
  });
});

describe('O11: a flood', () => {
  test('of lists is limited for its address alone', async () => {
    const limited = await startMcpService({ settings: { 'Mcp:RateLimit:PermitLimit': '5' } });
    const statuses: number[] = [];
    for (let at = 0; at < 7; at += 1) statuses.push((await limited.send(list)).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429]);
    const refused = await limited.send(list);
    expect(refused.headers['retry-after']).toMatch(/^\d+$/);
    expect(refused.headers['ratelimit-policy']).toBe('"mcp";q=5;w=60');
    expect((await limited.send({ ...list, socketAddress: '192.0.2.7' })).status).toBe(200);
    // The limit of REST is another one.
    const health = await limited.call({ method: 'GET', path: '/readiness' });
    expect(health.status).toBe(200);
    await limited.close();
  });

  test('of strangers and notifications is limited, too', async () => {
    const limited = await startMcpService({ settings: { 'Mcp:RateLimit:PermitLimit': '2' } });
    const note = { jsonrpc: '2.0', method: 'notifications/cancelled', params: {} };
    const first = await limited.send({ ...list, body: note });
    const second = await limited.send({ body: note });
    const third = await limited.send({ body: note });
    expect([first.status, second.status, third.status]).toEqual([202, 401, 429]);
    await limited.close();
  });

  test('of calls counts against the limit of the operation over REST', async () => {
    const limited = await startMcpService({ settings: { 'Server:RecordRateLimit:PermitLimit': '2' } });
    const name = 'svc_collections_list_v1';
    const call = () => limited.ask('reader', 'tools/call', { name, arguments: {} });
    await limited.call({ method: 'GET', path: '/collections', headers: { [IDENTITY]: 'reader' } });
    expect((await call()).result?.['isError']).toBeUndefined();
    const { result } = await call();
    expect(result).toMatchObject({
      isError: true,
      _meta: { 'svc.runtime/problem': { code: 'rate_limited', retryable: true } },
    });
    const rest = await limited.call({
      method: 'GET',
      path: '/collections',
      headers: { [IDENTITY]: 'reader' },
    });
    expect(rest.status).toBe(429);
    await limited.close();
  });

  test.each([
    ['refused starts, which are stored,', 'absent.handler', ''],
    ['large starts', 'invoice.render', 'a'.repeat(300_000)],
  ])('of %s ends as soon as over REST', async (_, handlerId, text) => {
    const limited = await startMcpService({ settings: { 'Server:ExecutionRateLimit:PermitLimit': '40' } });
    const scope = { productId: 'papers', tenantId: 'acme' };
    const given = { handlerId, scope, payload: { text } };
    const params = { name: 'svc_execution_start_run_v1', arguments: given, _meta: withCapabilities(TASKS) };
    const startsUntilRefused = async (socketAddress: string, request: InjectedRequest) => {
      for (let starts = 0; ; starts += 1) {
        const { body } = await limited.call({ ...request, socketAddress });
        if (body.includes('rate_limited')) return starts;
      }
    };
    const headers = { [IDENTITY]: 'writer' };
    const rest = {
      method: 'POST',
      path: '/execution/runs',
      body: { handlerId, scope, payload: { text } },
      headers,
    };
    const mcp = {
      method: 'POST',
      path: '/mcp',
      body: bodyOf('tools/call', params),
      headers: { ...fieldsOf('tools/call', params), ...headers },
    };
    const overRest = await startsUntilRefused('192.0.2.1', rest);
    expect(overRest).toBeLessThan(10);
    expect(await startsUntilRefused('192.0.2.2', mcp)).toBe(overRest);
    await limited.close();
  });

  test('of task reads is refused with 429, and with the time of a retry', async () => {
    const limited = await startMcpService({ settings: { 'Server:ExecutionRateLimit:PermitLimit': '2' } });
    const scope = { productId: 'papers', tenantId: 'acme' };
    const given = { handlerId: 'invoice.render', scope };
    const { taskId } = await callTool(limited, 'writer', 'svc_execution_start_run_v1', given);
    const params = { taskId, _meta: withCapabilities(TASKS) };
    const headers = { ...fieldsOf('tasks/get', params), [IDENTITY]: 'writer' };
    const look = () => limited.send({ body: bodyOf('tasks/get', params), headers });
    expect((await look()).status).toBe(200);
    const refused = await look();
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, expect.stringMatching(/^\d+$/)]);
    const { error } = refused.json<{ error: { message: string; data: object } }>();
    expect(error.message).toMatch(/^Rate limited: /);
    expect(error.data).toMatchObject({
      'svc.runtime/problem': {
        code: 'rate_limited',
        retryable: true,
        retryAfterSeconds: Number(refused.headers['retry-after']),
      },
    });
    await limited.close();
  });

  test('in one body is no message', async () => {
    const { status, body } = await service.send({
      ...list,
      body: [bodyOf('tools/list'), bodyOf('tools/list')],
    });
    expect([status, JSON.parse(body)]).toMatchObject([400, { error: { code: -32600 } }]);
  });
});

describe('the log of a refused call has the same fields as over REST', () => {
  const foreign = { handlerId: 'invoice.render', scope: { productId: 'reports', tenantId: 'acme' } };
  const absent = { collection: 'articles', partitionKey: 'p', id: 'absent' };
  test.each([
    [
      'startExecutionRun',
      'permission_denied',
      { name: 'svc_execution_start_run_v1', path: '/execution/runs', method: 'POST' },
      foreign,
    ],
    [
      'getRecord',
      'collection_not_found',
      { name: 'svc_records_get_v1', path: '/collections/articles/records/p/absent', method: 'GET' },
      absent,
    ],
  ])('%s %s', async (operation, code, { name, path, method }, given) => {
    const logged = await startMcpService({ settings: { 'Server:LogLevel': 'info' } });
    const headers = { [IDENTITY]: 'writer' };
    await logged.call({ method, path, headers, ...(method === 'GET' ? {} : { body: given }) });
    const { scope, ...plain } = given as Partial<typeof foreign>;
    const sent = scope === undefined ? given : { ...plain, scope };
    await logged.ask('writer', 'tools/call', { name, arguments: sent });
    const [overRest, overMcp, ...more] = logged.lines
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter((line) => line['operation'] === operation);
    expect(more).toEqual([]);
    expect(overRest).toMatchObject({ severity: expect.any(String) as string, code, method });
    expect(overMcp).toMatchObject({
      severity: overRest?.['severity'],
      operation,
      code,
      method: 'mcp tools/call',
    });
    await logged.close();
  });

  test('that no operation has, with the code of the protocol', async () => {
    const logged = await startMcpService({ settings: { 'Server:LogLevel': 'info' } });
    await logged.ask('writer', 'tools/call', { name: 'svc_unknown_v1' });
    const line = JSON.parse(logged.lines.at(-1) ?? '') as object;
    expect(line).toMatchObject({ severity: 'WARNING', operation: 'mcp tools/call', code: '-32602' });
    await logged.close();
  });
});

test('the log names the method and the principal, and no value of a request', async () => {
  const logged = await startMcpService({ settings: { 'Server:LogLevel': 'info' } });
  await logged.ask('reader', 'tools/call', {
    name: 'svc_collections_get_v1',
    arguments: { collection: 'secret-name' },
  });
  const lines = logged.lines.filter((line) => line.includes('mcp'));
  expect(lines.join()).toContain('mcp tools/call');
  expect(lines.join()).toContain('reader');
  expect(logged.lines.join()).not.toContain('secret-name');
  await logged.close();
});
