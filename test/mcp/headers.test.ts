import { describe, expect, test } from 'vitest';
import { bodyOf, fieldsOf, mcpStage, messagesOf, post } from './support.ts';

/** O01: header fields that contradict the body. */

const { chain } = mcpStage();

type Fields = readonly (readonly [string, string])[];

async function outcome(method: string, params: Record<string, unknown>, fields: Fields) {
  const response = await post(chain, bodyOf(method, params), fields);
  const [message] = messagesOf(response);
  const { code } = (message?.['error'] ?? {}) as { code?: number };
  if (code !== undefined) expect(message).toHaveProperty('id', 1);
  return [response.status, code];
}

const refused = [400, -32020];
const accepted = [200, undefined];
const base64 = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`;
const withField = (fields: Record<string, string>, name: string, values: readonly string[]): Fields => [
  ...Object.entries(fields).filter(([other]) => other !== name),
  ...values.map((value) => [name, value] as const),
];

describe('O01: the standard fields', () => {
  const method = 'tools/call';
  const params = { name: 'test_simple_text' };
  const rows: [field: string, values: readonly string[], expected: unknown[]][] = [
    ['MCP-Protocol-Version', ['2026-07-28'], accepted],
    ['MCP-Protocol-Version', ['  2026-07-28\t'], accepted],
    ['MCP-Protocol-Version', [], refused],
    ['MCP-Protocol-Version', [''], refused],
    ['MCP-Protocol-Version', ['2026-07-28', '2026-07-28'], refused],
    ['MCP-Protocol-Version', ['2026-07-28, 2026-07-28'], refused],
    ['Mcp-Method', [' tools/call '], accepted],
    ['Mcp-Method', [], refused],
    ['Mcp-Method', ['TOOLS/CALL'], refused],
    ['Mcp-Method', ['tools/list'], refused],
    ['Mcp-Method', ['tools/call', 'tools/call'], refused],
    ['Mcp-Method', ['tools/call', 'tools/list'], refused],
    ['Mcp-Method', [base64('tools/call')], refused],
    ['Mcp-Name', ['test_simple_text'], accepted],
    ['Mcp-Name', ['\ttest_simple_text '], accepted],
    ['Mcp-Name', [base64('test_simple_text')], accepted],
    ['Mcp-Name', [], refused],
    ['Mcp-Name', [''], refused],
    ['Mcp-Name', ['Test_Simple_Text'], refused],
    ['Mcp-Name', ['test_image_content'], refused],
    ['Mcp-Name', ['test_simple_text', 'test_simple_text'], refused],
    ['Mcp-Name', [base64('test_simple_text').replace('base64', 'BASE64')], refused],
    ['Mcp-Name', [base64('test_simple_text').replaceAll('=', '')], refused],
  ];
  test.each(rows)('%s as %j', async (field, values, expected) => {
    expect(await outcome(method, params, withField(fieldsOf(method, params), field, values))).toEqual(
      expected,
    );
  });

  test.each([
    ['MCP-Protocol-Version', [], 'is missing; send the revision that the body names'],
    ['MCP-Protocol-Version', ['2025-11-25'], 'differs from the revision that the body names'],
    ['Mcp-Method', [], 'is missing; send the method of the body'],
    ['Mcp-Method', ['secret'], 'differs from the method of the body'],
    ['Mcp-Name', [], 'is missing; send params.name of the body'],
    ['Mcp-Name', ['secret'], 'differs from params.name of the body'],
    ['Mcp-Name', ['secret', 'secret'], 'cannot be read; send params.name of the body once'],
  ])('a refusal says of %s as %j what is at fault, without the value', async (field, values, words) => {
    const response = await post(
      chain,
      bodyOf(method, params),
      withField(fieldsOf(method, params), field, values),
    );
    const message = `Header mismatch: ${field} ${words}`;
    expect(messagesOf(response)).toMatchObject([{ error: { code: -32020, message } }]);
  });

  test.each([
    ['tasks/get', { taskId: 'a' }, 'params.taskId'],
    ['resources/read', { uri: 'a:b' }, 'params.uri'],
  ])('the refusal of %s names the member of the body', async (other, given, member) => {
    const response = await post(
      chain,
      bodyOf(other, given),
      withField(fieldsOf(other, given), 'Mcp-Name', []),
    );
    const message = `Header mismatch: Mcp-Name is missing; send ${member} of the body`;
    expect(messagesOf(response)).toMatchObject([{ error: { code: -32020, message } }]);
  });

  test('names of fields are the same in any case', async () => {
    const fields = Object.entries(fieldsOf(method, params)).map(
      ([name, value]) => [name.toUpperCase(), value] as const,
    );
    expect(await outcome(method, params, fields)).toEqual(accepted);
  });

  test('a field that the method does not repeat is ignored', async () => {
    const fields = withField(fieldsOf('tools/list'), 'Mcp-Name', ['anything']);
    expect(await outcome('tools/list', {}, fields)).toEqual(accepted);
  });

  test('without the value in the body the parameters are refused, not the header', async () => {
    const fields = withField(fieldsOf(method), 'Mcp-Name', ['anything']);
    expect(await outcome(method, {}, fields)).toEqual([200, -32602]);
  });

  test('session fields are ignored, and none is returned', async () => {
    const fields = { ...fieldsOf(method, params), 'Mcp-Session-Id': 'abc', 'Last-Event-ID': '7' };
    const response = await post(chain, bodyOf(method, params), fields);
    expect(response.status).toBe(200);
    expect(Object.keys(response.headers)).not.toContain('mcp-session-id');
  });
});

describe('O01: the fields of parameters', () => {
  const name = 'test_custom_headers';
  const odd = 'Hällo, 世界 ';
  const rows: [toolArguments: Record<string, unknown>, fields: Fields, expected: unknown[]][] = [
    [{ region: 'eu' }, [['Mcp-Param-Region', 'eu']], accepted],
    [{ region: 'eu' }, [['mcp-param-REGION', ' eu ']], accepted],
    [{ region: 'eu' }, [['Mcp-Param-Region', base64('eu')]], accepted],
    [{ region: odd }, [['Mcp-Param-Region', base64(odd)]], accepted],
    [{ region: '' }, [['Mcp-Param-Region', '']], accepted],
    [{ region: '' }, [['Mcp-Param-Region', '=?base64??=']], accepted],
    [{ region: '=?base64?eu' }, [['Mcp-Param-Region', '=?base64?eu']], accepted],
    [{ region: 'eu?=' }, [['Mcp-Param-Region', 'eu?=']], accepted],
    [{ region: base64('eu') }, [['Mcp-Param-Region', base64(base64('eu'))]], accepted],
    [{ priority: 42 }, [['Mcp-Param-Priority', '42']], accepted],
    [{ priority: 42 }, [['Mcp-Param-Priority', '42.0']], accepted],
    [{ priority: -1 }, [['Mcp-Param-Priority', '-1']], accepted],
    [{ verbose: false }, [['Mcp-Param-Verbose', 'false']], accepted],
    [{ nested: { area: 'a' } }, [['Mcp-Param-Area', 'a']], accepted],
    [{ region: null }, [], accepted],
    [{ query: 'a' }, [['Mcp-Param-Query', 'b']], accepted],
    [{}, [['Mcp-Param-Other', 'b']], accepted],
    [{ region: 'eu' }, [], refused],
    [{ region: 'eu' }, [['Mcp-Param-Region', 'EU']], refused],
    [{ region: 'eu' }, [['Mcp-Param-Region', 'us']], refused],
    [
      { region: 'eu' },
      [
        ['Mcp-Param-Region', 'eu'],
        ['Mcp-Param-Region', 'eu'],
      ],
      refused,
    ],
    [{ region: 'eu' }, [['Mcp-Param-Region', '=?base64?ZXU?=']], refused],
    [{ region: 'eu' }, [['Mcp-Param-Region', '=?base64?ZX U=?=']], refused],
    [{ region: 'eu' }, [['Mcp-Param-Region', '=?base64?ZXV=?=']], refused],
    [{ region: '\uFFFD' }, [['Mcp-Param-Region', '=?base64?/w==?=']], refused],
    [{ region: odd }, [['Mcp-Param-Region', 'H\u00e4llo']], refused],
    [{ priority: 42 }, [['Mcp-Param-Priority', '43']], refused],
    [{ priority: 42 }, [['Mcp-Param-Priority', '0x2a']], refused],
    [{ priority: 42 }, [['Mcp-Param-Priority', '42 ,42']], refused],
    [{ verbose: false }, [['Mcp-Param-Verbose', 'False']], refused],
    [{ region: {} }, [['Mcp-Param-Region', '[object Object]']], refused],
    [{}, [['Mcp-Param-Region', 'eu']], refused],
    [{ region: null }, [['Mcp-Param-Region', 'null']], refused],
    [{ nested: { area: 'a' } }, [], refused],
  ];
  test.each(rows)('%j with %j', async (given, fields, expected) => {
    const params = { name, arguments: given };
    const all = [...Object.entries(fieldsOf('tools/call', params)), ...fields];
    expect(await outcome('tools/call', params, all)).toEqual(expected);
  });
});
