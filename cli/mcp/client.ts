import type { IncomingMessage } from 'node:http';
import { parseJson } from '../../functions/kernel/json-text.ts';
import { ToolError } from '../output.ts';
import type { Remote } from '../remote.ts';
import { remedyOf } from './remedies.ts';

/** Messages to the MCP endpoint of a service, as a client of the revision 2026-07-28 sends them. */

const REVISION = '2026-07-28';
const META = {
  'io.modelcontextprotocol/protocolVersion': REVISION,
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'svc', version: '1' },
};

type Members = Readonly<Record<string, unknown>>;

export interface McpReply {
  readonly status: number;
  readonly result?: Members;
  readonly error?: { readonly code: number; readonly message: string };
}

/** Sends one request. `named` replaces the method in the header field, to see whether the endpoint compares them. */
export async function ask(
  remote: Remote,
  method: string,
  params: Members = {},
  named: string = method,
): Promise<McpReply> {
  const body = Buffer.from(
    JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } }),
  );
  const headers = [
    ['Content-Type', 'application/json'],
    ['Accept', 'application/json, text/event-stream'],
    ['MCP-Protocol-Version', REVISION],
    ['Mcp-Method', named],
  ] as const;
  const answer = await remote.send({ method: 'POST', path: '/mcp', headers, body });
  const text = await remote.bodyOf(answer);
  const status = answer.statusCode ?? 0;
  const message = messageIn(text.toString('utf8'));
  // A problem document is the answer of HTTP, not of the protocol.
  if (message === null) throw await refusalOf(remote, answer, text);
  return { status, ...message };
}

async function refusalOf(remote: Remote, answer: IncomingMessage, text: Buffer): Promise<Error> {
  const refusal = await remote.refusal(answer, text);
  const remedy = remedyOf(answer.statusCode ?? 0);
  return remedy === undefined
    ? refusal
    : new ToolError(`${refusal.message} ${remedy}`, refusal.exitCode, { cause: refusal });
}

function messageIn(text: string): Omit<McpReply, 'status'> | null {
  try {
    const value = parseJson(text) as Members | null;
    return value?.['jsonrpc'] === '2.0' ? value : null;
  } catch {
    return null;
  }
}

/** All items of a list, page after page; of any shape. */
export async function itemsOf(remote: Remote, method: string, member: string): Promise<readonly unknown[]> {
  const items: unknown[] = [];
  let cursor: unknown;
  const seen = new Set<unknown>();
  do {
    seen.add(cursor);
    const { result, error } = await ask(remote, method, cursor === undefined ? {} : { cursor });
    const page = result?.[member];
    if (!Array.isArray(page))
      throw new ToolError(`${method} was answered without ${member}: ${error?.message ?? 'no reason'}`);
    items.push(...(page as unknown[]));
    cursor = result?.['nextCursor'];
    if (cursor !== undefined && seen.has(cursor))
      throw new ToolError(`${method} answers the same page again.`);
  } while (cursor !== undefined);
  return items;
}
