import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../functions/kernel/errors.ts';
import type { McpTool } from '../../functions/mcp/catalog.ts';
import { SECRET_TOOL } from './acceptance-catalog.ts';
import { definitionOf } from './acceptance-definitions.ts';
import {
  ask,
  bodyOf,
  fieldsOf,
  META,
  mcpStage,
  messagesOf,
  post,
  refusalOf,
  withCapabilities,
} from './support.ts';

const { chain, world } = mcpStage();
const call = 'tools/call';

function stageWith(tool: McpTool) {
  return mcpStage({}, (catalog) => ({ ...catalog, tools: () => Promise.resolve([tool]) }));
}

describe('a call', () => {
  test('O03: a tool that the caller is not shown is answered like one that does not exist', async () => {
    const hidden = await ask(chain, call, { name: SECRET_TOOL });
    const unknown = await ask(chain, call, { name: 'there_is_none' });
    expect(hidden).toEqual({ ...unknown, error: { code: -32602, message: 'Invalid params: unknown tool' } });
    const shown = await ask(chain, call, { name: SECRET_TOOL }, { authorization: 'Bearer operator' });
    expect(shown.result).toMatchObject({ content: [{ text: 'for the operator' }] });
  });

  test.each([
    ['without a name', {}],
    ['with a number as name', { name: 1 }],
    ['with a list as arguments', { name: 'greet', arguments: [] }],
    ['with null as arguments', { name: 'greet', arguments: null }],
    ['with null as answers', { name: 'greet', inputResponses: null }],
    ['with a number as an answer', { name: 'greet', inputResponses: { a: 1 } }],
    ['with a number as state', { name: 'greet', requestState: 1 }],
  ])('%s has invalid parameters', async (_, params) => {
    expect(await refusalOf(chain, call, params)).toEqual([200, -32602]);
  });

  test('ignores a task that a client of an earlier revision requests', async () => {
    const { result } = await ask(chain, call, { name: 'greet', arguments: { name: 'a' }, task: { ttl: 1 } });
    expect(result).toMatchObject({ resultType: 'complete', content: [{ text: 'Hello, a!' }] });
  });

  test('that needs a capability is refused by its name', async () => {
    const params = { name: 'test_missing_capability' };
    expect((await ask(chain, call, params)).error?.data).toEqual({ requiredCapabilities: { sampling: {} } });
    expect(await refusalOf(chain, call, params)).toEqual([400, -32021]);
    for (const declared of [true, null, []])
      expect(
        await refusalOf(chain, call, { ...params, _meta: withCapabilities({ sampling: declared }) }),
      ).toEqual([400, -32021]);
    const able = await ask(chain, call, { ...params, _meta: withCapabilities({ sampling: {} }) });
    expect(able.result).toMatchObject({ content: [{ text: 'sampled' }] });
  });
});

describe('a failure of a tool', () => {
  test('hides its cause, and is logged with the correlation id', async () => {
    const stage = mcpStage();
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
    const fields = { 'X-Correlation-ID': 'request-7', traceparent: `00-${traceId}-00f067aa0ba902b7-01` };
    const { status, result } = await ask(stage.chain, call, { name: 'test_error_handling' }, fields);
    expect([status, result?.['isError']]).toEqual([200, true]);
    expect(result?.['_meta']).toMatchObject({
      'svc.runtime/problem': { code: 'internal_error', correlationId: 'request-7', traceId },
    });
    expect(JSON.stringify(result)).not.toContain('secret');
    const [line] = stage.lines;
    expect(line).toMatchObject({ severity: 'ERROR', correlationId: 'request-7', trace: { traceId } });
    expect(JSON.stringify(stage.lines)).not.toContain('secret');
  });

  test('refused by the service names the reason, the code and the time of a retry', async () => {
    const refusal = new ServiceError('rate_limited', 'Too many.', { retryAfterSeconds: 7 });
    const { chain: busy, lines } = stageWith({
      definition: definitionOf('busy'),
      call: () => Promise.reject(refusal),
    });
    const { result } = await ask(busy, call, { name: 'busy' });
    expect(result).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: 'Too many. (rate_limited) Try again after 7 s.' }],
      _meta: { 'svc.runtime/problem': { code: 'rate_limited', retryable: true, retryAfterSeconds: 7 } },
    });
    expect(lines.filter(({ severity }) => severity === 'ERROR')).toEqual([]);
  });

  test('a result does not set members that belong to the protocol', async () => {
    const { chain: odd } = stageWith({
      definition: definitionOf('odd'),
      call: () =>
        Promise.resolve({
          resultType: 'complete',
          content: [],
          ttlMs: 5,
          requestState: 'x',
          taskId: 'y',
        } as never),
    });
    const { result } = await ask(odd, call, { name: 'odd' });
    expect(Object.keys(result ?? {}).sort()).toEqual(['_meta', 'content', 'resultType']);
  });
});

describe('progress', () => {
  const params = { name: 'test_tool_with_progress' };
  const withToken = (progressToken: unknown) => ({ ...params, _meta: { ...META, progressToken } });

  test.each([['a'], [7], ['']])(
    'is sent with the token %j before the result, and only rises',
    async (token) => {
      const response = await post(chain, bodyOf(call, withToken(token)), fieldsOf(call, params));
      expect(response.headers).toMatchObject({
        'content-type': 'text/event-stream',
        'cache-control': 'no-cache',
        'x-accel-buffering': 'no',
      });
      const notified = [0, 50, 100].map((progress) => ({
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progressToken: token, progress, total: 100 },
      }));
      expect(messagesOf(response)).toEqual([...notified, expect.objectContaining({ id: 1 })]);
    },
  );

  test('is not sent to a client that did not ask', async () => {
    const response = await post(chain, bodyOf(call, params), fieldsOf(call, params));
    expect(response.headers['content-type']).toBe('application/json');
  });

  test('a bounded number of messages is kept for a client that reads nothing', async () => {
    const { chain: loud } = stageWith({
      definition: definitionOf('loud'),
      call: (_, { notifyProgress }) => {
        for (let at = 1; at <= 10_000; at += 1) notifyProgress(at);
        return Promise.resolve({ resultType: 'complete', content: [] });
      },
    });
    const body = bodyOf(call, { name: 'loud', _meta: { ...META, progressToken: 1 } });
    const messages = messagesOf(await post(loud, body, fieldsOf(call, { name: 'loud' })));
    expect(messages).toHaveLength(101);
    expect(messages.at(-2)).toMatchObject({ params: { progress: 10_000 } });
  });

  test('a failure behind it is the last message', async () => {
    const { chain: failing } = stageWith({
      definition: definitionOf('failing'),
      call: (_, { notifyProgress }) => {
        notifyProgress(1);
        return Promise.resolve({
          resultType: 'input_required',
          inputRequests: { a: { method: 'roots/list', params: {} } },
        });
      },
    });
    const body = bodyOf(call, { name: 'failing', _meta: { ...META, progressToken: 1 } });
    const response = await post(failing, body, fieldsOf(call, { name: 'failing' }));
    expect(response.status).toBe(200);
    expect(messagesOf(response).at(-1)).toMatchObject({ id: 1, error: { code: -32021 } });
  });
});

describe('a question to the client', () => {
  const name = 'test_input_required_result_request_state';
  const able = { _meta: withCapabilities({ elicitation: {} }) };
  const answers = { inputResponses: { confirm: { action: 'accept', content: { ok: true } } } };
  const asked = async (params = {}, headers = {}) =>
    String((await ask(chain, call, { name, ...able, ...params }, headers)).result?.['requestState']);

  test('ends with the answers and the state, on any instance', async () => {
    const stage = mcpStage();
    const { result } = await ask(stage.chain, call, { name, ...able });
    expect(result).toMatchObject({ resultType: 'input_required' });
    expect(result).not.toHaveProperty('cacheScope');
    const { requestState } = result as { requestState: string };
    const ended = await ask(stage.another(), call, { name, ...able, ...answers, requestState });
    expect(ended.result).toMatchObject({
      resultType: 'complete',
      content: [{ text: expect.stringContaining('state-ok') as string }],
    });
  });

  test('is not put to a client that cannot answer it', async () => {
    const { error } = await ask(chain, call, { name });
    expect([error?.code, error?.data]).toEqual([-32021, { requiredCapabilities: { elicitation: {} } }]);
    expect(error?.message).toContain('capability: elicitation; ');
  });

  test('by address needs a client that opens addresses', async () => {
    const { chain: urls } = stageWith({
      definition: definitionOf('visit'),
      call: () =>
        Promise.resolve({
          resultType: 'input_required',
          inputRequests: { visit: { method: 'elicitation/create', params: { mode: 'url' } } },
        }),
    });
    const { error } = await ask(urls, call, { name: 'visit', ...able });
    expect(error?.data).toEqual({ requiredCapabilities: { elicitation: { url: {} } } });
  });

  test.each([
    ['changed', async () => `${(await asked()).slice(0, -2)}AA`],
    ['without a signature', async () => (await asked()).split('.').slice(0, 1).join('')],
    ['empty', async () => ''],
    ['of another caller', async () => asked({}, { authorization: 'Bearer other' })],
    ['of other arguments', async () => asked({ arguments: { a: 1 } })],
    ['of another tool', async () => asked({ name: 'test_input_required_result_tampered_state' })],
    ['of a list', async () => String((await ask(mcpStage().chain, 'tools/list')).result?.['nextCursor'])],
  ])('a state that is %s is refused', async (_, state) => {
    const requestState = await state();
    expect(await refusalOf(chain, call, { name, ...able, ...answers, requestState })).toEqual([200, -32602]);
  });

  test('a state is refused when it is too old', async () => {
    const requestState = await asked();
    world.advance(599_999);
    expect(await refusalOf(chain, call, { name, ...able, ...answers, requestState })).toEqual([
      200,
      undefined,
    ]);
    world.advance(1);
    expect(await refusalOf(chain, call, { name, ...able, ...answers, requestState })).toEqual([200, -32602]);
  });
});
