import { describe, expect, test } from 'vitest';
import type { McpTool } from '../../functions/mcp/catalog.ts';
import { definitionOf, textOf } from './acceptance-definitions.ts';
import { initializeParams } from './older-support.ts';
import { mcpStage, messagesOf, post } from './support.ts';

/** The revision of a request, by its header, its body and its method. */

const NEWEST = '2026-07-28';
const VERSION = 'io.modelcontextprotocol/protocolVersion';

const revisionTool: McpTool = {
  definition: definitionOf('revision'),
  call: (_, { revision }) => Promise.resolve(textOf(revision)),
};
const { chain } = mcpStage({}, (catalog) => ({ ...catalog, tools: () => Promise.resolve([revisionTool]) }));

interface Marks {
  readonly header?: string;
  readonly meta?: unknown;
  /** Whether the header fields of the newest revision repeat the body. */
  readonly mirrors?: boolean;
}

/** The revision in which a call was answered, or the status and the code of its refusal. */
async function outcomeOf(marks: Marks, method = 'tools/call', params: object = { name: 'revision' }) {
  const { header, meta, mirrors = true } = marks;
  const capabilities = { 'io.modelcontextprotocol/clientCapabilities': {} };
  const named = meta === undefined ? {} : { _meta: { [VERSION]: meta, ...capabilities } };
  const headers = {
    ...(header === undefined ? {} : { 'MCP-Protocol-Version': header }),
    ...(mirrors ? { 'Mcp-Method': method } : {}),
    ...(mirrors && method === 'tools/call' ? { 'Mcp-Name': 'revision' } : {}),
  };
  const body = { jsonrpc: '2.0', id: 1, method, params: { ...params, ...named } };
  const response = await post(chain, body, headers);
  const { result, error } = (messagesOf(response)[0] ?? {}) as {
    result?: { content?: { text: string }[]; protocolVersion?: string };
    error?: { code: number };
  };
  if (error !== undefined) return [response.status, error.code];
  return result?.content?.[0]?.text ?? result?.protocolVersion;
}

describe('a call is of', () => {
  test.each<[Marks, unknown]>([
    [{}, '2025-03-26'],
    [{ mirrors: false }, '2025-03-26'],
    [{ header: '2025-03-26' }, '2025-03-26'],
    [{ header: '2025-06-18' }, '2025-06-18'],
    [{ header: '2025-11-25' }, '2025-11-25'],
    [{ header: '2025-11-25', mirrors: false }, '2025-11-25'],
    [{ header: '2025-11-25', meta: '2025-11-25' }, '2025-11-25'],
    [{ header: NEWEST, meta: NEWEST }, NEWEST],
    // Each rule of the newest revision holds as soon as one of its marks is there.
    [{ header: NEWEST, meta: NEWEST, mirrors: false }, [400, -32020]],
    [{ header: NEWEST }, [400, -32602]],
    [{ header: NEWEST, meta: 1 }, [400, -32602]],
    [{ header: NEWEST, meta: '2025-11-25' }, [400, -32020]],
    [{ header: '2025-11-25', meta: NEWEST }, [400, -32020]],
    [{ meta: NEWEST }, [400, -32020]],
    [{ meta: NEWEST, mirrors: false }, [400, -32020]],
    [{ meta: '2025-11-25' }, [400, -32020]],
    [{ meta: 1 }, [400, -32020]],
    [{ header: '2024-11-05' }, [400, -32022]],
    [{ header: '2024-11-05', meta: '2024-11-05' }, [400, -32022]],
    [{ header: '' }, [400, -32022]],
  ])('%j: %j', async (marks, expected) => {
    expect(await outcomeOf(marks)).toEqual(expected);
  });
});

describe('a handshake agrees on', () => {
  const of = (version: unknown) => ({ ...initializeParams('x'), protocolVersion: version });
  test.each<[Marks, unknown, unknown]>([
    [{}, '2025-03-26', '2025-03-26'],
    [{}, '2025-06-18', '2025-06-18'],
    [{}, '2025-11-25', '2025-11-25'],
    [{}, NEWEST, '2025-11-25'],
    [{}, '2024-11-05', '2025-11-25'],
    [{}, 'v999', '2025-11-25'],
    [{}, undefined, [200, -32602]],
    // A client sends the header only later, so one of an older revision is ignored.
    [{ header: '2025-03-26' }, '2025-11-25', '2025-11-25'],
    [{ header: '2024-11-05' }, '2025-06-18', '2025-06-18'],
    [{ header: NEWEST, meta: NEWEST }, '2025-11-25', [404, -32601]],
    [{ header: NEWEST }, '2025-11-25', [400, -32602]],
    [{ meta: NEWEST }, '2025-11-25', [400, -32020]],
    [{ header: '2025-11-25', meta: NEWEST }, '2025-11-25', [400, -32020]],
  ])('%j with %j: %j', async (marks, version, expected) => {
    expect(await outcomeOf(marks, 'initialize', of(version))).toEqual(expected);
  });
});

test('the refusal of a revision says which are served and what to do, and quotes nothing', async () => {
  const headers = { 'MCP-Protocol-Version': '1999-01-01' };
  const response = await post(chain, { jsonrpc: '2.0', id: 1, method: 'ping' }, headers);
  const [message] = messagesOf(response);
  const words =
    'this endpoint serves 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26; set the client to one of these revisions';
  expect(message).toMatchObject({ error: { message: `Unsupported protocol version: ${words}` } });
});
