import type { InjectedResponse } from '../../functions/http/host-inject.ts';
import type { Chain } from '../../functions/http/message.ts';
import type { OlderRevision } from '../../functions/mcp/revisions.ts';
import { type McpAnswer, messagesOf, post } from './support.ts';

/** A client of an older revision: it sends the version in one header, and nothing else of it. */

export const OLDER: readonly OlderRevision[] = ['2025-11-25', '2025-06-18', '2025-03-26'];

type Params = Readonly<Record<string, unknown>>;

export function olderBody(method: string, params: Params = {}): Record<string, unknown> {
  return { jsonrpc: '2.0', id: 1, method, params };
}

/** A client of 2025-03-26 does not know the header. */
export function olderFields(revision: OlderRevision): Record<string, string> {
  const accept = { Accept: 'application/json, text/event-stream' };
  return revision === '2025-03-26' ? accept : { ...accept, 'MCP-Protocol-Version': revision };
}

export function initializeParams(protocolVersion: string): Params {
  return { protocolVersion, capabilities: {}, clientInfo: { name: 'older', version: '1' } };
}

export function olderSend(
  chain: Chain,
  revision: OlderRevision,
  method: string,
  params: Params = {},
  headers: Record<string, string> = {},
): Promise<InjectedResponse> {
  return post(chain, olderBody(method, params), { ...olderFields(revision), ...headers });
}

export async function olderAsk(...sent: Parameters<typeof olderSend>): Promise<McpAnswer> {
  const response = await olderSend(...sent);
  return { status: response.status, ...messagesOf(response).at(-1) };
}

/** The tools that `tools/list` shows. */
export async function olderTools(
  chain: Chain,
  revision: OlderRevision,
  headers: Record<string, string> = {},
): Promise<readonly ({ readonly name: string } & Params)[]> {
  const { result = {} } = await olderAsk(chain, revision, 'tools/list', {}, headers);
  return (result['tools'] ?? []) as readonly ({ readonly name: string } & Params)[];
}
