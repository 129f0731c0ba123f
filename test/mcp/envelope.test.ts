import { describe, expect, test } from 'vitest';
import { answerFaults } from './answer-faults.ts';
import { ask, bodyOf, fieldsOf, META, mcpStage, messagesOf, post, refusalOf } from './support.ts';

const { chain } = mcpStage();
const discover = 'server/discover';
const version = 'io.modelcontextprotocol/protocolVersion';
const capabilities = 'io.modelcontextprotocol/clientCapabilities';

async function sent(body: unknown, headers: Record<string, string> = fieldsOf(discover)) {
  const response = await post(chain, body, headers);
  const [message] = messagesOf(response);
  const { code, data } = (message?.['error'] ?? {}) as { code?: number; data?: unknown };
  expect(answerFaults(response, body)).toEqual([]);
  return { status: response.status, code, data, message };
}

describe('the JSON-RPC message', () => {
  test.each([
    ['no JSON', '{"jsonrpc"'],
    ['an empty body', ' '],
    ['a byte order mark', '\uFEFF{}'],
    ['bytes that are not UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['a member that is named twice', '{"jsonrpc":"2.0","id":1,"id":2,"method":"server/discover"}'],
    ['nesting without end', `{"a":${'['.repeat(200)}${']'.repeat(200)}}`],
  ])('%s is a parse error without an id', async (_, body) => {
    const { status, code, message } = await sent(body);
    expect([status, code, Object.hasOwn(message ?? {}, 'id')]).toEqual([400, -32700, false]);
  });

  const good = bodyOf(discover);
  test.each([
    ['a batch', [good], undefined],
    ['an empty batch', [], undefined],
    ['a text', 'server/discover', undefined],
    ['null as id', { ...good, id: null }, undefined],
    ['a fraction as id', { ...good, id: 1.5 }, undefined],
    ['an object as id', { ...good, id: {} }, undefined],
    ['another version of JSON-RPC', { ...good, jsonrpc: '1.0' }, 1],
    ['no method', { ...good, method: undefined }, 1],
    ['a response', { jsonrpc: '2.0', id: 1, result: {} }, 1],
    ['a list as params', { ...good, params: [] }, 1],
    ['null as params', { ...good, params: null }, 1],
  ])('%s is an invalid request', async (_, body, id) => {
    const { status, code, message } = await sent(typeof body === 'string' ? JSON.stringify(body) : body);
    expect([status, code, message?.['id']]).toEqual([400, -32600, id]);
  });

  test.each([['a text'], [''], [0], [-7], [9007199254740991]])('%j is an id, and comes back', async (id) => {
    const { message } = await sent({ ...good, id });
    expect(message).toMatchObject({ id, result: { resultType: 'complete' } });
  });

  test.each(['notifications/initialized', 'notifications/cancelled', 'tools/call'])(
    'a notification of %s is accepted and dropped',
    async (method) => {
      const response = await post(chain, { jsonrpc: '2.0', method }, {});
      expect([response.status, response.body]).toEqual([202, '']);
    },
  );
});

describe('version negotiation', () => {
  const [NEWEST, old] = ['2026-07-28', '2025-11-25'];
  const metaOf = (value: unknown) => ({ _meta: { ...META, [version]: value } });
  const without = { _meta: { [capabilities]: {} } };

  test.each([
    ['the header is missing', {}, {}, -32020],
    ['both name one before all that are served', { 'MCP-Protocol-Version': 'v1' }, metaOf('v1'), -32022],
    ['both name a version to come', { 'MCP-Protocol-Version': 'v999' }, metaOf('v999'), -32022],
    ['they differ', { 'MCP-Protocol-Version': old }, {}, -32020],
    ['they differ, and the body is the unknown one', undefined, metaOf('v999'), -32020],
    ['only the header names one', undefined, without, -32602],
    ['only the header names one, another', { 'MCP-Protocol-Version': 'v1' }, without, -32022],
    ['the body names a number', undefined, metaOf(1), -32602],
  ])('%s', async (_, header, params, expected) => {
    // A client that names its version in the body does not know the handshake of older revisions.
    const supported = params === without ? [NEWEST, old, '2025-06-18', '2025-03-26'] : [NEWEST];
    const { 'MCP-Protocol-Version': named, ...others } = fieldsOf(discover);
    const fields = { ...others, ...(header ?? { 'MCP-Protocol-Version': String(named) }) };
    const { status, code, data } = await sent(bodyOf(discover, params), fields);
    expect([status, code]).toEqual([400, expected]);
    if (expected === -32022) expect(data).toMatchObject({ supported });
  });

  test('initialize is unknown in this revision, and its version in the body alone makes no older request', async () => {
    expect(await refusalOf(chain, 'initialize')).toEqual([404, -32601]);
    const body = bodyOf('initialize', { protocolVersion: old });
    expect(await sent(body, {})).toMatchObject({ status: 400, code: -32020 });
    const bare = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: old } };
    expect(await sent(bare, fieldsOf('initialize'))).toMatchObject({ status: 400, code: -32602 });
  });
});

describe('the metadata', () => {
  test.each([
    ['is missing', undefined],
    ['is null', null],
    ['is a list', []],
    ['has no capabilities', { [version]: '2026-07-28' }],
    ['has capabilities that are a list', { ...META, [capabilities]: [] }],
    ['has client info without a version', { ...META, 'io.modelcontextprotocol/clientInfo': { name: 'a' } }],
    ['has an unknown log level', { ...META, 'io.modelcontextprotocol/logLevel': 'loud' }],
    ['has an object as progress token', { ...META, progressToken: {} }],
  ])('that %s is invalid with the status 400', async (_, meta) => {
    const { status, code } = await sent(bodyOf(discover, { _meta: meta }));
    expect([status, code]).toEqual([400, -32602]);
  });

  test('O07: credentials, client info and huge texts in it change nothing', async () => {
    const plain = await ask(chain, 'tools/list');
    const stuffed = await ask(chain, 'tools/list', {
      _meta: {
        ...META,
        'io.modelcontextprotocol/clientInfo': { name: 'operator', version: '1', principal: 'operator' },
        authorization: 'Bearer operator',
        principal: 'operator',
        traceparent: 'x'.repeat(10_240),
        tracestate: ['no text'],
      },
    });
    expect(stuffed).toEqual(plain);
  });
});

describe('methods', () => {
  test.each([
    'initialize',
    'ping',
    'logging/setLevel',
    'resources/subscribe',
    'resources/unsubscribe',
    'tasks/result',
    'tasks/list',
    'elicitation/create',
    'sampling/createMessage',
    'roots/list',
    'unknown/method',
    '__proto__',
    'constructor',
  ])('%s is unknown', async (method) => {
    expect(await refusalOf(chain, method, { taskId: 'x' })).toEqual([404, -32601]);
  });

  test('of a part that the catalog does not have are unknown, and not advertised', async () => {
    const bare = mcpStage({}, ({ serverInfo, contentVersion }) => ({ serverInfo, contentVersion })).chain;
    const { result } = await ask(bare, discover);
    expect(result?.['capabilities']).toEqual({});
    for (const method of ['tools/list', 'resources/read', 'prompts/get', 'completion/complete', 'tasks/get'])
      expect(await refusalOf(bare, method), method).toEqual([404, -32601]);
  });

  test('discovery lists the served versions and capabilities', async () => {
    expect((await ask(chain, discover)).result).toEqual({
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: {
        tools: {},
        resources: {},
        prompts: {},
        completions: {},
        extensions: { 'io.modelcontextprotocol/tasks': {} },
      },
      instructions: 'Tools for acceptance tests.',
      ttlMs: 300_000,
      cacheScope: 'private',
      _meta: {
        'svc.runtime/contentVersion': '1',
        'io.modelcontextprotocol/serverInfo': { name: 'acceptance', version: '1.0.0' },
      },
    });
  });

  test('a subscription is acknowledged, and closed at once', async () => {
    const params = { notifications: { toolsListChanged: true, resourceSubscriptions: ['a'] } };
    const response = await post(
      chain,
      bodyOf('subscriptions/listen', params),
      fieldsOf('subscriptions/listen'),
    );
    const subscription = { 'io.modelcontextprotocol/subscriptionId': 1 };
    expect([response.status, response.headers['content-type']]).toEqual([200, 'text/event-stream']);
    expect(messagesOf(response)).toEqual([
      {
        jsonrpc: '2.0',
        method: 'notifications/subscriptions/acknowledged',
        params: { notifications: {}, _meta: subscription },
      },
      {
        jsonrpc: '2.0',
        id: 1,
        result: { resultType: 'complete', _meta: expect.objectContaining(subscription) as object },
      },
    ]);
    expect(await refusalOf(chain, 'subscriptions/listen')).toEqual([200, -32602]);
    const ofTasks = { notifications: { taskIds: ['a'] } };
    expect(await refusalOf(chain, 'subscriptions/listen', ofTasks)).toEqual([400, -32021]);
  });
});
