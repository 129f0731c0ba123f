import { describe, expect, test } from 'vitest';
import { inject } from '../../functions/http/host-inject.ts';
import type { RawRequest } from '../../functions/http/message.ts';
import type { Caller } from '../../functions/identity/caller.ts';
import { answerFaults } from './answer-faults.ts';
import { serveAcceptance } from './conformance-server.ts';
import { ask, bodyOf, fieldsOf, META, mcpStage, messagesOf, post } from './support.ts';

const discover = bodyOf('server/discover');
const fields = fieldsOf('server/discover');

describe('refusals by HTTP alone', () => {
  test.each(['GET', 'DELETE', 'PUT', 'HEAD', 'OPTIONS', 'BREW'])(
    '%s is refused with the way',
    async (method) => {
      const response = await inject(mcpStage().chain, { method, path: '/mcp' });
      expect([response.status, response.headers['allow']]).toEqual([405, 'POST']);
      expect(answerFaults(response, undefined)).toEqual([]);
    },
  );

  test.each([
    ['text/plain', 415],
    ['application/json-rpc', 415],
    ['application/json; charset=latin1', 415],
    ['application/json; charset=UTF-8', 200],
    ['Application/JSON', 200],
  ])('the content type %s gives %i', async (contentType, status) => {
    const response = await post(mcpStage().chain, discover, { ...fields, 'Content-Type': contentType });
    expect(response.status).toBe(status);
  });

  test.each(['*/*', 'text/html', ''])('the accept field %j is served', async (accept) => {
    expect((await post(mcpStage().chain, discover, { ...fields, Accept: accept })).status).toBe(200);
  });

  test('chunks of HTTP/1.0 are refused as faulty framing', async () => {
    const { chain } = mcpStage();
    const old = (version: string) => (request: RawRequest) => chain({ ...request, httpVersion: version });
    const chunked = { ...fields, 'Transfer-Encoding': 'chunked' };
    expect((await post(old('1.0'), discover, chunked)).status).toBe(400);
    expect((await post(old('1.0'), discover, fields)).status).toBe(200);
    expect((await post(old('1.1'), discover, chunked)).status).toBe(200);
  });

  test('too many fields, too large ones and a compressed body are refused', async () => {
    const { chain } = mcpStage({ headerLimits: { countMax: 20, bytesMax: 1000 } });
    const many = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`Mcp-Param-${at}`, 'x']));
    expect((await post(chain, discover, { ...fields, ...many })).status).toBe(431);
    expect((await post(chain, discover, { ...fields, 'Mcp-Param-A': 'x'.repeat(1000) })).status).toBe(431);
    expect((await post(chain, discover, { ...fields, 'Content-Encoding': 'gzip' })).status).toBe(415);
  });

  test('a body over the limit is refused, declared or not, and closes the connection', async () => {
    const { chain } = mcpStage({ bodyBytesMax: 1000 });
    const large = bodyOf('server/discover', { filler: 'x'.repeat(1000) });
    expect((await post(chain, large, fields)).status).toBe(413);
    async function* chunks() {
      yield Buffer.from(JSON.stringify(large));
    }
    const chunked = { ...fields, 'Transfer-Encoding': 'chunked', 'Content-Type': 'application/json' };
    expect((await post(chain, chunks(), chunked)).status).toBe(413);
  });

  test('a caller without a credential is refused before the body is read', async () => {
    let isRead = false;
    async function* body() {
      isRead = true;
      yield Buffer.from('{}');
    }
    const headers = {
      ...fields,
      Authorization: 'Bearer none',
      'Transfer-Encoding': 'chunked',
      'Content-Type': 'application/json',
    };
    const response = await post(mcpStage().chain, body(), headers);
    expect([response.status, isRead]).toEqual([401, false]);
    expect(response.headers['www-authenticate']).toMatch(/^Bearer /);
  });

  test('the catalog is asked for the caller that was authenticated, and for no other', async () => {
    const callers: Caller[] = [];
    const stage = mcpStage({}, (catalog) => ({
      ...catalog,
      tools: (caller) => {
        callers.push(caller);
        return Promise.resolve([]);
      },
    }));
    await ask(
      stage.chain,
      'tools/list',
      { principal: 'operator' },
      {
        Authorization: 'Bearer alice',
        'X-Forwarded-User': 'operator',
        'X-Forwarded-Authorization': 'Bearer operator',
        'Mcp-Param-Principal': 'operator',
      },
    );
    expect(callers).toEqual([{ kind: 'workload', principal: 'alice' }]);
    expect(stage.lines).toMatchObject([{ operation: 'mcp tools/list', principal: 'alice', status: 200 }]);
  });
});

describe('pages of other sites', () => {
  const rows: [options: object, headers: Record<string, string>, status: number][] = [
    [{}, {}, 200],
    [{}, { Origin: 'https://elsewhere.example' }, 403],
    [{}, { Origin: 'null' }, 403],
    [{}, { Origin: 'http://localhost:5220', Host: 'localhost:5220' }, 403],
    [{ allowedOrigins: ['https://app.example'] }, { Origin: 'https://app.example' }, 200],
    [{ allowedOrigins: ['https://app.example'] }, { Origin: 'https://app.example.evil' }, 403],
    [{ loopbackHostsOnly: true }, { Host: 'localhost:5220' }, 200],
    [{ loopbackHostsOnly: true }, { Host: '[::1]:5220', Origin: 'http://[::1]:5220' }, 200],
    [{ loopbackHostsOnly: true }, { Host: '127.0.0.1', Origin: 'http://localhost' }, 200],
    [{ loopbackHostsOnly: true }, { Host: 'evil.example' }, 403],
    [{ loopbackHostsOnly: true }, { Host: 'localhost', Origin: 'http://evil.example' }, 403],
    [{ loopbackHostsOnly: true }, { Host: 'localhost', Origin: 'http://localhost@evil.example' }, 403],
    [{ loopbackHostsOnly: true }, { Host: 'localhost', Origin: 'file://localhost' }, 403],
  ];
  test.each(rows)('under %j a request with %j gets %i', async (options, headers, status) => {
    expect((await post(mcpStage(options).chain, discover, { ...fields, ...headers })).status).toBe(status);
  });
});

test('every answer carries a correlation id, and no cache keeps it', async () => {
  const { chain } = mcpStage();
  const sent = { ...fields, 'X-Correlation-ID': 'request-7' };
  for (const [body, headers] of [
    [discover, sent],
    ['{', sent],
    [discover, { ...sent, 'Content-Type': 'text/plain' }],
    [{ jsonrpc: '2.0', method: 'notifications/cancelled' }, sent],
  ] as const) {
    const response = await post(chain, body, headers);
    expect(response.headers).toMatchObject({
      'x-correlation-id': 'request-7',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
  }
});

test('the log names methods that are served, and nothing that a caller chose', async () => {
  const { chain, lines } = mcpStage();
  await ask(chain, 'tools/call', { name: 'chosen_by_the_caller' });
  await ask(chain, 'chosen/by-the-caller');
  await post(chain, '{"chosen":', fields);
  expect(lines.map(({ operation, status }) => [operation, status])).toEqual([
    ['mcp tools/call', 200],
    ['mcp', 404],
    ['mcp', 400],
  ]);
  expect(JSON.stringify(lines)).not.toContain('chosen');
});

test('the log names the trace of the call, else that of the request; a faulty trace counts as none', async () => {
  const { chain, lines } = mcpStage();
  const traceOf = (digit: string) => digit.repeat(32);
  const parentOf = (digit: string) => `00-${traceOf(digit)}-${digit.repeat(16)}-01`;
  const sent = async (inMeta: unknown, inHeader: string) => {
    const params = { name: 'none', _meta: { ...META, traceparent: inMeta } };
    const headers = { ...fieldsOf('tools/call', params), traceparent: inHeader };
    await post(chain, bodyOf('tools/call', params), headers);
    return lines.at(-1)?.trace?.traceId;
  };
  expect(await sent(parentOf('a'), parentOf('b'))).toBe(traceOf('a'));
  expect(await sent(undefined, parentOf('b'))).toBe(traceOf('b'));
  expect(await sent(['a'], parentOf('b').toUpperCase())).toBeUndefined();
  expect(await sent(parentOf('0'), '')).toBeUndefined();
});

test('the same endpoint answers on a socket, as JSON and as an event stream', async () => {
  const server = await serveAcceptance();
  try {
    const send = async (method: string, params: Record<string, unknown>) => {
      const response = await fetch(server.url, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...fieldsOf(method, params) },
        body: JSON.stringify(bodyOf(method, params)),
      });
      const type = response.headers.get('content-type') ?? '';
      return messagesOf({ headers: { 'content-type': type }, body: await response.text() } as never);
    };
    expect(await send('server/discover', {})).toMatchObject([{ id: 1, result: { resultType: 'complete' } }]);
    const params = { name: 'test_tool_with_progress', _meta: { ...META, progressToken: 'a' } };
    expect(await send('tools/call', params)).toHaveLength(4);
  } finally {
    await server.stop();
  }
});
