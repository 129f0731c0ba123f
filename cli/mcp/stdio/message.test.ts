import { describe, expect, test } from 'vitest';
import { fieldsOf } from './fields.ts';
import { type ForwardedMessage, readLine } from './message.ts';

const read = (text: string) => readLine(Buffer.from(text), 1_000);

function messageOf(value: object): ForwardedMessage {
  const found = read(JSON.stringify({ jsonrpc: '2.0', ...value }));
  if (found.kind !== 'message') throw new Error(found.kind);
  return found.message;
}

describe('a line that is no message', () => {
  test.each([
    ['is too long', 'too-long' as const, -32_600, /1,000 bytes/],
    ['is no object', Buffer.from('7'), -32_600, /JSON-RPC 2\.0/],
    ['is not JSON', Buffer.from('{'), -32_700, /not JSON/],
    ['is not UTF-8', Buffer.from([0x22, 0xff, 0x22]), -32_700, /not JSON/],
    ['is a batch', Buffer.from('[]'), -32_600, /Batches/],
    [
      'is of another version',
      Buffer.from('{"jsonrpc":"1.0","id":1,"method":"ping"}'),
      -32_600,
      /JSON-RPC 2\.0/,
    ],
    ['has no method', Buffer.from('{"jsonrpc":"2.0","id":1}'), -32_600, /method/],
    ['has a null id', Buffer.from('{"jsonrpc":"2.0","id":null,"method":"ping"}'), -32_600, /id/],
  ])('%s: it is refused', (_, line, code, words) => {
    const found = readLine(line, 1_000);
    if (found.kind !== 'fault') throw new Error(found.kind);
    const answer = JSON.parse(found.line) as Record<string, unknown>;
    expect(answer['error']).toEqual({ code, message: expect.stringMatching(words) });
    // An id that could be read is repeated, and no other member takes its place.
    expect(answer['id']).toBe(line.includes('"id":1') ? 1 : undefined);
    expect('id' in answer).toBe(line.includes('"id":1'));
  });

  test('is an answer: the service asks nothing', () => {
    expect(read('{"jsonrpc":"2.0","id":1,"result":{}}').kind).toBe('answer');
    expect(read('{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}').kind).toBe('answer');
  });
});

test('the bytes of a message stay as they were written', () => {
  const text = '{"jsonrpc":"2.0", "id":1,"method":"ping","params":{"n":12345678901234567890}}';
  const found = read(text);
  expect(found.kind === 'message' && found.message.bytes.toString()).toBe(text);
});

describe('the header fields', () => {
  const modern = { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } };

  test.each([
    ['tools/call', { name: 'svc_records_query_v1' }, 'svc_records_query_v1'],
    ['prompts/get', { name: 'a b' }, 'a b'],
    ['resources/read', { uri: 'svc://health/v1' }, 'svc://health/v1'],
    ['tasks/get', { taskId: 't' }, 't'],
    ['tasks/update', { taskId: 't' }, 't'],
    ['tasks/cancel', { taskId: 't' }, 't'],
    ['tools/call', { name: 'größe' }, `=?base64?${Buffer.from('größe').toString('base64')}?=`],
    ['tools/call', { name: ' a' }, '=?base64?IGE=?='],
    [
      'tools/call',
      { name: '=?base64?YQ==?=' },
      `=?base64?${Buffer.from('=?base64?YQ==?=').toString('base64')}?=`,
    ],
    ['tools/call', { name: '' }, '=?base64??='],
  ])('of 2026-07-28 mirror %s %j', (method, params, name) => {
    const message = messageOf({ id: 1, method, params: { ...params, ...modern } });
    expect(fieldsOf(message, '2025-06-18')).toEqual([
      ['MCP-Protocol-Version', '2026-07-28'],
      ['Mcp-Method', method],
      ['Mcp-Name', name],
    ]);
  });

  test('of 2026-07-28 have no name where the body has none', () => {
    const fields = [
      ['MCP-Protocol-Version', '2026-07-28'],
      ['Mcp-Method', 'tools/list'],
    ];
    expect(fieldsOf(messageOf({ id: 1, method: 'tools/list', params: modern }), null)).toEqual(fields);
    const nameless = messageOf({ id: 1, method: 'tools/call', params: { name: 7, ...modern } });
    expect(fieldsOf(nameless, null).map(([name]) => name)).toEqual(['MCP-Protocol-Version', 'Mcp-Method']);
  });

  test('of an older revision name the version that initialize has agreed on, and nothing else', () => {
    const call = messageOf({ id: 1, method: 'tools/call', params: { name: 'a' } });
    expect(fieldsOf(call, '2025-11-25')).toEqual([['MCP-Protocol-Version', '2025-11-25']]);
    expect(fieldsOf(call, null)).toEqual([]);
    const initialize = messageOf({ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25' } });
    expect(fieldsOf(initialize, '2025-06-18')).toEqual([]);
  });

  test('hold no line feed of a hostile version or method', () => {
    const meta = { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28\r\nX-Evil: 1' } };
    const hostile = messageOf({ id: 1, method: 'ping\nX: 1', params: meta });
    for (const [, value] of fieldsOf(hostile, null)) expect(value).toMatch(/^[\x20-\x7e]*$/);
    for (const [, value] of fieldsOf(messageOf({ id: 1, method: 'ping' }), 'a\r\nb'))
      expect(value).toMatch(/^[\x20-\x7e]*$/);
  });
});
