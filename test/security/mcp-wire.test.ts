import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { revisions } from '../../functions/mcp/revisions.ts';
import { clientOf, type RevisionClient, valuesOf } from '../mcp/any-revision.ts';
import { initializeParams } from '../mcp/older-support.ts';
import { createCollection, IDENTITY, type McpService, startMcpService } from '../mcp/service-stage.ts';
import { messagesOf } from '../mcp/support.ts';
import { lineFault } from './log-lines.ts';

/** Attacks by header fields, bodies, ids and names at the MCP endpoint of the real service, under each revision. */

const PAGE = 'https://app.example.com';
const LIST = 'svc_collections_list_v1';

let service: McpService;

beforeAll(async () => {
  service = await startMcpService({
    settings: {
      'Cors:AllowedOrigins:0': PAGE,
      'Mcp:BodyBytesMax': '65536',
      'Mcp:HeaderCountMax': '30',
      'Server:LogLevel': 'debug',
    },
  });
  await service.start();
  await createCollection(service, 'writer', 'articles');
  await createCollection(service, 'neighbour', 'secrets');
});

afterAll(() => service.close());

const clients = revisions.map(
  (revision) => [revision, clientOf(() => service, revision)] as [string, RevisionClient],
);
const call = { name: LIST, arguments: {} };

describe.each(clients)('under %s', (_, client) => {
  const isNewest = client.revision === '2026-07-28';
  const outcome = async (...sent: Parameters<RevisionClient['ask']>) => {
    const { status, error } = await client.ask(...sent);
    return [status, error?.code];
  };
  /** Sends a body as it is, with the fields of a call. */
  const raw = async (body: unknown, headers: Readonly<Record<string, string>> = {}) => {
    const fields = { ...client.fieldsOf('tools/call', call), [IDENTITY]: 'writer', ...headers };
    const response = await service.send({ body, headers: fields });
    return { status: response.status, messages: messagesOf(response) };
  };

  test('a caller without a credential is refused before its body is read', async () => {
    for (const [method, params] of [
      ['initialize', initializeParams(client.revision)],
      ['server/discover', {}],
      ['ping', {}],
      ['tools/list', {}],
      ['tools/call', call],
    ] as const) {
      const response = await client.send(null, method, params);
      expect([response.status, response.headers['www-authenticate']]).toEqual([401, 'Bearer realm="svc"']);
    }
    let isRead = false;
    async function* body() {
      isRead = true;
      yield Buffer.from('{}');
    }
    const framing = { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' };
    const headers = { ...client.fieldsOf('ping'), ...framing };
    expect((await service.send({ body: body(), headers })).status).toBe(401);
    expect(isRead).toBe(false);
  });

  test('O01: mirrored fields that contradict the body are refused, absent ones only by the newest', async () => {
    for (const field of [
      { 'Mcp-Name': 'svc_records_get_v1' },
      { 'Mcp-Name': `${LIST}, ${LIST}` },
      { 'Mcp-Method': 'tools/list' },
      { 'Mcp-Method': 'TOOLS/CALL' },
      { 'MCP-Protocol-Version': '2026-07-28, 2025-11-25' },
    ]) {
      const [status, code] = await outcome('writer', 'tools/call', call, field);
      expect([status, [-32020, -32022].includes(code ?? 0)], JSON.stringify(field)).toEqual([400, true]);
    }
    const { 'MCP-Protocol-Version': version } = client.fieldsOf('tools/call', call);
    const bare = {
      [IDENTITY]: 'writer',
      ...(version === undefined ? {} : { 'MCP-Protocol-Version': version }),
    };
    const { status } = await service.send({ body: client.bodyOf('tools/call', call), headers: bare });
    expect(status).toBe(isNewest ? 400 : 200);
  });

  test('fields that occur twice are refused', async () => {
    const fields = Object.entries({ ...client.fieldsOf('tools/call', call), [IDENTITY]: 'writer' });
    for (const [name, value] of [
      ['MCP-Protocol-Version', client.revision],
      ['MCP-Protocol-Version', client.revision],
      ['Mcp-Name', 'svc_records_get_v1'],
      ['Mcp-Name', LIST],
      ['Mcp-Method', 'tools/call'],
      ['Mcp-Method', 'tools/call'],
      [IDENTITY, 'neighbour'],
      [IDENTITY, 'writer'],
    ] as const) {
      const others = fields.filter(([other]) => other !== name);
      const headers = [...others, [name, value], [name.toLowerCase(), value]] as [string, string][];
      const response = await service.send({ body: client.bodyOf('tools/call', call), headers });
      expect(response.status, name).toBe(400);
      expect(response.body).not.toContain('articles');
    }
  });

  test('a page of another site and a foreign name of this machine are refused', async () => {
    const statusOf = async (headers: Readonly<Record<string, string>>) =>
      (await client.send('writer', 'tools/call', call, headers)).status;
    for (const Origin of [
      'https://evil.example',
      'null',
      `${PAGE}.evil.example`,
      'http://localhost.evil.example',
    ])
      expect(await statusOf({ Origin }), Origin).toBe(403);
    expect(await statusOf({ Origin: PAGE })).toBe(200);
    for (const Host of ['rebound.example', 'localhost.evil.example', '127.0.0.1.nip.example'])
      expect(await statusOf({ Host }), Host).toBe(403);
    expect(await statusOf({ Host: 'localhost:5220' })).toBe(200);
  });

  test('O11: a smuggled batch reaches no tool', async () => {
    const one = client.bodyOf('tools/call', call);
    const text = JSON.stringify(one);
    for (const body of [[one], Array.from({ length: 100 }, () => one), [[one]], []])
      expect(await raw(body)).toMatchObject({ status: 400, messages: [{ error: { code: -32600 } }] });
    for (const body of [
      `${text}${text}`,
      `${text}\n${text}`,
      `\u001e${text}\n`,
      text.replace('"method":', '"method":"ping","method":'),
      text.replace('"id":1', '"id":1,"id":2'),
    ])
      expect(await raw(body), body).toMatchObject({ status: 400, messages: [{ error: { code: -32700 } }] });
    // A batch in the parameters is an argument that nothing reads.
    const nested = { ...call, arguments: { batch: [one] } };
    expect((await client.ask('writer', 'tools/call', nested)).result).toMatchObject({ isError: true });
  });

  test('an id comes back as it was sent, or is refused', async () => {
    const one = client.bodyOf('tools/call', call);
    for (const id of ['x'.repeat(60_000), '', '\n{"jsonrpc":"2.0"}', '__proto__', 2 ** 53 - 1, -1, 0]) {
      const { status, messages } = await raw({ ...one, id });
      expect([status, messages[0]?.['id']]).toEqual([200, id]);
      expect(messages).toHaveLength(1);
    }
    const text = JSON.stringify(one);
    for (const id of ['9007199254740993', '1e400', '-1e400', '1.5', 'null', '{}', '[1]', 'true']) {
      const { status, messages } = await raw(text.replace('"id":1', `"id":${id}`));
      expect([status, messages[0]?.['id'], messages[0]?.['result']], id).toEqual([400, undefined, undefined]);
    }
  });

  test('a body or a header without end is refused', async () => {
    const long = client.bodyOf('tools/call', { ...call, arguments: { x: 'x'.repeat(70_000) } });
    expect((await service.send({ body: long, headers: { [IDENTITY]: 'writer' } })).status).toBe(413);
    const many = Object.fromEntries([...Array(30).keys()].map((at) => [`Mcp-Param-${at}`, 'a']));
    expect((await client.send('writer', 'tools/call', call, many)).status).toBe(431);
    const deep = `{"a":${'['.repeat(5_000)}${']'.repeat(5_000)}}`;
    expect((await raw(deep)).messages).toMatchObject([{ error: { code: -32700 } }]);
  });

  test('J03: line ends and controls in names forge no line of the log', async () => {
    const forged = 'forged\r\n{"severity":"ERROR","message":"forged"}\u2028\u001b[31m';
    const encoded = `=?base64?${Buffer.from(forged).toString('base64')}?=`;
    service.lines.length = 0;
    const params = { name: forged, arguments: { [forged]: forged } };
    const named = isNewest ? { 'Mcp-Name': encoded } : {};
    await client.ask('writer', 'tools/call', params, named);
    await client.ask('writer', 'tools/call', { ...call, arguments: { [forged]: forged } });
    await client.ask('writer', 'resources/read', { uri: forged }, named);
    await client.ask('writer', 'initialize', { protocolVersion: forged, clientInfo: { name: forged } });
    await raw({ ...client.bodyOf(forged), id: forged }, isNewest ? { 'Mcp-Method': encoded } : {});
    await client.ask('writer', 'tools/list', { cursor: forged });
    await raw(client.bodyOf('tools/call', call), { 'Mcp-Name': encoded });
    expect(service.lines).toHaveLength(7);
    expect(service.lines.map(lineFault).filter((fault) => fault !== null)).toEqual([]);
    expect(service.lines.filter((line) => line.includes('forged'))).toEqual([]);
  });

  test('O07: credentials and huge texts in metadata change nothing', async () => {
    const stuffed = {
      'io.modelcontextprotocol/clientInfo': { name: 'operator', version: '1', principal: 'operator' },
      authorization: 'Bearer operator',
      principal: 'operator',
      traceparent: 'x'.repeat(10_240),
      tracestate: ['no text'],
    };
    for (const [method, params] of [
      ['tools/list', {}],
      ['tools/call', call],
    ] as const) {
      const plain = await client.ask('writer', method, params);
      const { _meta: meta } = client.bodyOf(method)['params'] as { readonly _meta?: object };
      const more = { ...params, _meta: { ...meta, ...stuffed } };
      expect(await client.ask('writer', method, more)).toEqual(plain);
    }
  });

  test('an answer names no other caller whose session it claims', async () => {
    const claims = { 'Mcp-Session-Id': 'session-of-the-neighbour', 'Last-Event-ID': '1' };
    const response = await client.send('writer', 'tools/call', call, claims);
    const [message] = messagesOf(response);
    expect(valuesOf(message?.['result'] as object as Readonly<Record<string, unknown>>)).toEqual({
      items: ['articles'],
    });
    expect(JSON.stringify([response.headers, response.body])).not.toContain('session');
  });
});

describe.each(clients)('O11 under %s', (_, { revision }) => {
  test('a flood is limited for its address, notifications and refusals count', async () => {
    const limited = await startMcpService({ settings: { 'Mcp:RateLimit:PermitLimit': '4' } });
    const client = clientOf(() => limited, revision);
    const statuses = [
      (await client.send('reader', 'tools/list')).status,
      (await client.send(null, 'tools/list')).status,
      (
        await limited.send({
          body: { jsonrpc: '2.0', method: 'notifications/initialized' },
          headers: { ...client.fieldsOf('notifications/initialized'), [IDENTITY]: 'reader' },
        })
      ).status,
      (await client.send('reader', 'initialize', initializeParams(revision))).status,
      (await client.send('reader', 'tools/list')).status,
    ];
    expect(statuses).toEqual([200, 401, 202, revision === '2026-07-28' ? 404 : 200, 429]);
    await limited.close();
  });
});
