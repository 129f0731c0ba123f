import { describe, expect, test } from 'vitest';
import { inject } from '../../functions/http/host-inject.ts';
import { revisions } from '../../functions/mcp/revisions.ts';
import { initializeParams, OLDER, olderAsk, olderBody, olderFields, olderSend } from './older-support.ts';
import { ask, mcpStage, messagesOf, post, TASKS, withCapabilities } from './support.ts';

/** Requests of older revisions: the handshake without a session, and what is refused. */

const { chain, another, lines } = mcpStage();
const list = olderBody('tools/list');

async function refusal(body: unknown, headers: Record<string, string> = {}, to = chain) {
  const response = await post(to, body, headers);
  const [message] = messagesOf(response);
  const { code, data } = (message?.['error'] ?? {}) as { code?: number; data?: unknown };
  return { status: response.status, code, data, id: message?.['id'] };
}

describe('the handshake', () => {
  test.each(OLDER)('of %s is answered from the request alone', async (revision) => {
    const response = await olderSend(chain, revision, 'initialize', initializeParams(revision));
    expect(response.status).toBe(200);
    expect(Object.keys(response.headers)).not.toContain('mcp-session-id');
    expect(messagesOf(response)).toEqual([
      {
        jsonrpc: '2.0',
        id: 1,
        result: {
          protocolVersion: revision,
          // Neither logging, subscriptions, changes of lists, tasks nor extensions.
          capabilities: { tools: {}, resources: {}, prompts: {}, completions: {} },
          serverInfo: { name: 'acceptance', version: '1.0.0' },
          instructions: 'Tools for acceptance tests.',
        },
      },
    ]);
    const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' };
    const notified = await post(another(), initialized, olderFields(revision));
    expect([notified.status, notified.body]).toEqual([202, '']);
    // The next request goes to an instance that saw neither of the two.
    expect(await olderAsk(another(), revision, 'ping')).toEqual({
      status: 200,
      jsonrpc: '2.0',
      id: 1,
      result: {},
    });
  });

  test('is not needed: a client may begin with any request', async () => {
    for (const revision of OLDER) {
      const { result } = await olderAsk(mcpStage().chain, revision, 'tools/list');
      expect(result).toHaveProperty('tools');
    }
  });

  test('advertises no part that the catalog does not have', async () => {
    const bare = mcpStage({}, ({ serverInfo, contentVersion }) => ({ serverInfo, contentVersion })).chain;
    const { result } = await olderAsk(bare, '2025-11-25', 'initialize', initializeParams('2025-11-25'));
    expect(result).toEqual({
      protocolVersion: '2025-11-25',
      capabilities: {},
      serverInfo: { name: 'acceptance', version: '1.0.0' },
    });
    for (const method of ['tools/list', 'resources/read', 'prompts/get', 'completion/complete'])
      expect((await olderAsk(bare, '2025-11-25', method)).error?.code, method).toBe(-32601);
  });

  test.each(['2024-11-05', '2026-07-28', 'v999', ''])('for %j agrees on 2025-11-25', async (version) => {
    const { result } = await olderAsk(chain, '2025-03-26', 'initialize', initializeParams(version));
    expect(result).toMatchObject({ protocolVersion: '2025-11-25' });
  });

  test('without a version is refused', async () => {
    const { status, error } = await olderAsk(chain, '2025-03-26', 'initialize', { protocolVersion: 1 });
    expect([status, error?.code]).toEqual([200, -32602]);
  });

  test.each<[what: string, more: Readonly<Record<string, unknown>>]>([
    ['capabilities', { capabilities: undefined }],
    ['capabilities that are an object', { capabilities: 7 }],
    ['capabilities that are no list', { capabilities: [] }],
    ['a client', { clientInfo: undefined }],
    ['a client that is an object', { clientInfo: 'x' }],
    ['the name of its client', { clientInfo: { version: '1' } }],
    ['the version of its client', { clientInfo: { name: 'x', version: 1 } }],
  ])('without %s is refused', async (_, more) => {
    const given = { ...initializeParams('2025-06-18'), ...more };
    const { status, error } = await olderAsk(chain, '2025-06-18', 'initialize', given);
    expect([status, error?.code]).toEqual([200, -32602]);
  });

  test('gives a page of a list that another revision goes on with', async () => {
    const settings = { revisions, pageSize: 3, discoverTtlMs: 1, listTtlMs: 1, requestStateMs: 1 };
    const stage = mcpStage({ settings });
    const { result } = await olderAsk(stage.chain, '2025-06-18', 'tools/list');
    const cursor = { cursor: result?.['nextCursor'] };
    const next = (await olderAsk(stage.another(), '2025-06-18', 'tools/list', cursor)).result;
    expect(next?.['tools']).toHaveLength(3);
    const unknown = await olderAsk(stage.chain, '2025-06-18', 'tools/list', { cursor: 'x' });
    expect([unknown.status, unknown.error?.code]).toEqual([200, -32602]);
  });

  test('is logged by its method', () => {
    expect(lines.map(({ operation }) => operation)).toContain('mcp initialize');
  });
});

describe('refusals', () => {
  test.each(['GET', 'DELETE'])('%s is no method of the endpoint', async (method) => {
    const headers = { ...olderFields('2025-11-25'), Accept: 'text/event-stream', 'Mcp-Session-Id': 'a' };
    const response = await inject(chain, { method, path: '/mcp', headers });
    expect([response.status, response.headers['allow']]).toEqual([405, 'POST']);
  });

  test.each(['2024-11-05', '2025-11-24', 'latest', ''])(
    'the version %j in the header has the status 400',
    async (version) => {
      const headers = { 'MCP-Protocol-Version': version };
      expect(await refusal(list, headers)).toEqual({
        status: 400,
        code: -32022,
        data: { supported: ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26'], requested: version },
        id: 1,
      });
      // As does a notification, whose refusal has no id.
      const notification = { jsonrpc: '2.0', method: 'notifications/initialized' };
      expect(await refusal(notification, headers)).toMatchObject({
        status: 400,
        code: -32022,
        id: undefined,
      });
    },
  );

  test('two versions in two header fields are none', async () => {
    const twice = [
      ['MCP-Protocol-Version', '2025-11-25'],
      ['Mcp-Protocol-Version', '2025-11-25'],
    ] as const;
    expect((await post(chain, list, twice)).status).toBe(400);
    const notification = { jsonrpc: '2.0', method: 'notifications/initialized' };
    expect((await post(chain, notification, twice)).status).toBe(400);
  });

  test.each([
    ['a batch of requests', [list, list]],
    ['a batch of notifications', [{ jsonrpc: '2.0', method: 'notifications/initialized' }]],
    ['an empty batch', []],
    ['a response', { jsonrpc: '2.0', id: 1, result: {} }],
    ['an error', { jsonrpc: '2.0', id: 1, error: { code: 1, message: 'a' } }],
  ])('%s is an invalid request in every revision', async (_, body) => {
    for (const revision of OLDER)
      expect(await refusal(body, olderFields(revision))).toMatchObject({ status: 400, code: -32600 });
    const [message] = messagesOf(await post(chain, [list], olderFields('2025-06-18')));
    expect(Object.keys(message ?? {})).toEqual(['jsonrpc', 'error']);
  });

  test.each([
    'server/discover',
    'subscriptions/listen',
    'logging/setLevel',
    'resources/subscribe',
    'resources/unsubscribe',
    'tasks/get',
    'tasks/update',
    'tasks/cancel',
    'tasks/result',
    'tasks/list',
    'roots/list',
    '__proto__',
  ])('%s is unknown, and not with the status of a lost session', async (method) => {
    for (const revision of OLDER) {
      const { status, error } = await olderAsk(chain, revision, method, { taskId: 'task-1' });
      expect([status, error?.code]).toEqual([200, -32601]);
    }
  });

  test.each([
    ['metadata', { _meta: 1 }],
    ['progress token', { _meta: { progressToken: {} } }],
  ])('a %s of another type is invalid', async (_, params) => {
    const { status, error } = await olderAsk(chain, '2025-11-25', 'tools/list', params);
    expect([status, error?.code]).toEqual([200, -32602]);
  });

  test('a resource that is not there has the code of these revisions', async () => {
    const params = { uri: 'test://none' };
    const { status, error } = await olderAsk(chain, '2025-06-18', 'resources/read', params);
    expect([status, error?.code, error?.data]).toEqual([200, -32002, params]);
    expect((await ask(chain, 'resources/read', params)).error?.code).toBe(-32602);
  });
});

describe('capabilities of clients', () => {
  const call = (name: string, more: object = {}) => ({ name, arguments: {}, ...more });

  test('a tool that needs one is neither listed nor called', async () => {
    for (const revision of OLDER)
      for (const name of ['failing_job', 'test_missing_capability'])
        for (const meta of [{}, withoutVersion(withCapabilities({ ...TASKS, sampling: {} }))]) {
          const { status, error } = await olderAsk(
            chain,
            revision,
            'tools/call',
            call(name, { _meta: meta, task: {} }),
          );
          expect([status, error?.code, error?.message]).toEqual([
            200,
            -32602,
            'Invalid params: unknown tool',
          ]);
        }
  });

  test('an answer that asks the client is refused with the way out', async () => {
    const { status, error } = await olderAsk(
      chain,
      '2025-11-25',
      'tools/call',
      call('test_streaming_elicitation'),
    );
    expect([status, error?.code]).toEqual([200, -32602]);
    expect(error?.message).toContain('2026-07-28');
  });

  test('a member task of a call is ignored', async () => {
    const { result } = await olderAsk(chain, '2025-11-25', 'tools/call', call('greet', { task: { ttl: 1 } }));
    expect(result).toEqual({ content: [{ type: 'text', text: 'Hello, !' }] });
  });

  test('answers to questions and their state are not read', async () => {
    const more = { inputResponses: 5, requestState: 'forged' };
    const { result } = await olderAsk(chain, '2025-11-25', 'tools/call', call('greet', more));
    expect(result).toHaveProperty('content');
  });
});

function withoutVersion(meta: Record<string, unknown>): Record<string, unknown> {
  const { 'io.modelcontextprotocol/protocolVersion': _, ...rest } = meta;
  return rest;
}

describe('mirrored header fields', () => {
  const params = { name: 'test_custom_headers', arguments: { region: 'eu' } };

  test('may be absent', async () => {
    const { result } = await olderAsk(chain, '2025-11-25', 'tools/call', params);
    expect(result).toMatchObject({ content: [{ text: 'headers agree' }] });
  });

  test.each<[string, Record<string, string>, number | undefined]>([
    [
      'all',
      { 'Mcp-Method': 'tools/call', 'Mcp-Name': 'test_custom_headers', 'Mcp-Param-Region': 'eu' },
      undefined,
    ],
    ['another method', { 'Mcp-Method': 'tools/list' }, -32020],
    ['another name', { 'Mcp-Name': 'greet' }, -32020],
    ['a name that is no text', { 'Mcp-Name': '=?base64?_?=' }, -32020],
    ['another argument', { 'Mcp-Param-Region': 'us' }, -32020],
    ['an argument that is not there', { 'Mcp-Param-Verbose': 'true' }, -32020],
    ['a field of no argument', { 'Mcp-Param-Other': 'x' }, undefined],
  ])('agree where they are sent: %s', async (_, headers, code) => {
    const { status, error } = await olderAsk(chain, '2025-11-25', 'tools/call', params, headers);
    expect([status, error?.code]).toEqual([code === undefined ? 200 : 400, code]);
  });
});

describe('a mirrored header field without a value to repeat', () => {
  const notification = { jsonrpc: '2.0', method: 'notifications/initialized' };
  const newest = { 'MCP-Protocol-Version': '2026-07-28' };

  test.each(['tools/list', 'ping', 'x'])('is refused with %s', async (method) => {
    for (const revision of OLDER) {
      const { status, error } = await olderAsk(chain, revision, method, {}, { 'Mcp-Name': 'greet' });
      expect([status, error?.code, error?.message]).toEqual([
        400,
        -32020,
        'Header mismatch: Mcp-Name repeats no value of the body',
      ]);
    }
  });

  test('is ignored in 2026-07-28', async () => {
    expect((await ask(chain, 'tools/list', {}, { 'Mcp-Name': 'greet' })).status).toBe(200);
  });

  test.each<[Record<string, string>, number]>([
    [{}, 202],
    [{ 'Mcp-Method': 'notifications/initialized' }, 202],
    [{ 'Mcp-Method': 'ping' }, 400],
    [{ 'Mcp-Name': 'greet' }, 400],
  ])('with a notification: %j has the status %d', async (headers, status) => {
    for (const revision of OLDER)
      expect((await post(chain, notification, { ...olderFields(revision), ...headers })).status).toBe(status);
    expect((await post(chain, notification, { ...newest, ...headers })).status).toBe(202);
  });

  test('with the notification of a call that names another method has the status 400', async () => {
    const body = { jsonrpc: '2.0', method: 'tools/call', params: { name: 'greet' } };
    expect(await refusal(body, { 'Mcp-Method': 'ping' })).toMatchObject({ status: 400, code: -32020 });
    expect(await refusal(body, { 'Mcp-Name': 'other' })).toMatchObject({ status: 400, code: -32020 });
  });
});

describe('fewer revisions', () => {
  const served = (...given: (typeof revisions)[number][]) =>
    mcpStage({
      settings: { revisions: given, pageSize: 9, discoverTtlMs: 1, listTtlMs: 1, requestStateMs: 1 },
    }).chain;

  test('the newest alone refuses the others as one that knows no other', async () => {
    const only = served('2026-07-28');
    const body = olderBody('initialize', initializeParams('2025-11-25'));
    const data = { supported: ['2026-07-28'], requested: '2025-11-25' };
    expect(await refusal(body, {}, only)).toMatchObject({ status: 400, code: -32022, data });
    expect(await refusal(list, {}, only)).toMatchObject({ status: 400, code: -32020 });
    expect((await ask(only, 'tools/list')).status).toBe(200);
    const notification = { jsonrpc: '2.0', method: 'notifications/initialized' };
    expect((await post(only, notification)).status).toBe(202);
  });

  test('an older one alone is agreed on, and refuses the newest', async () => {
    const only = served('2025-06-18');
    const { result } = await olderAsk(only, '2025-03-26', 'initialize', initializeParams('2025-11-25'));
    expect(result).toMatchObject({ protocolVersion: '2025-06-18' });
    expect((await olderAsk(only, '2025-06-18', 'ping')).status).toBe(200);
    expect((await olderAsk(only, '2025-11-25', 'ping')).error?.code).toBe(-32022);
    expect(await ask(only, 'server/discover')).toMatchObject({
      status: 400,
      error: { code: -32022, data: { supported: ['2025-06-18'], requested: '2026-07-28' } },
    });
  });
});
