import { type InjectedResponse, inject } from '../../functions/http/host-inject.ts';
import type { Chain } from '../../functions/http/message.ts';
import type { Caller } from '../../functions/identity/caller.ts';
import { ServiceError } from '../../functions/kernel/errors.ts';
import type { LogEvent } from '../../functions/kernel/log.ts';
import { PageTokens } from '../../functions/kernel/page-token.ts';
import type { McpCatalog } from '../../functions/mcp/catalog.ts';
import { createMcpEndpoint, type McpEndpointOptions } from '../../functions/mcp/endpoint.ts';
import { ManualWorld } from '../support/manual-world.ts';
import { acceptanceCatalog } from './acceptance-catalog.ts';
import { MemoryTasks } from './acceptance-tasks.ts';

/** Endpoints in memory, and a client that sends all that the revision requires, unless a test changes it. */

/** The caller that a bearer token names; without one a stranger, `none` is refused. */
function callerOf(token: string | undefined): Promise<Caller> {
  if (token === 'Bearer none')
    return Promise.reject(new ServiceError('unauthenticated', 'A token is needed.'));
  const principal = token?.replace('Bearer ', '') ?? null;
  return Promise.resolve({ kind: principal === null ? 'development' : 'workload', principal });
}

export interface McpStage {
  readonly world: ManualWorld;
  readonly chain: Chain;
  readonly lines: readonly LogEvent[];
  readonly tasks: MemoryTasks;
  /** A second endpoint over the same tasks and keys. */
  readonly another: () => Chain;
}

export function mcpStage(
  options: Partial<McpEndpointOptions> = {},
  changed: (catalog: McpCatalog) => McpCatalog = (catalog) => catalog,
): McpStage {
  const world = new ManualWorld();
  const lines: LogEvent[] = [];
  let ids = 0;
  const tasks = new MemoryTasks(world.clock, () => `task-${(ids += 1)}`);
  const create = () =>
    createMcpEndpoint({
      catalog: changed(acceptanceCatalog(tasks)),
      tokens: new PageTokens(() => Promise.resolve(Buffer.alloc(32, 7))),
      authenticate: (headers) => callerOf(headers.get('authorization')),
      world,
      log: (line) => lines.push(line),
      bodyBytesMax: 64 * 1024,
      ...options,
    });
  return { world, lines, tasks, chain: create(), another: create };
}

export const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};
export const withCapabilities = (capabilities: object) => ({
  ...META,
  'io.modelcontextprotocol/clientCapabilities': capabilities,
});
export const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

type Params = Readonly<Record<string, unknown>>;

/** The body of a request; `_meta` may be replaced by the parameters. */
export function bodyOf(method: string, params: Params = {}): Record<string, unknown> {
  return { jsonrpc: '2.0', id: 1, method, params: { _meta: META, ...params } };
}

/** The header fields that go with a body. */
export function fieldsOf(method: string, params: Params = {}): Record<string, string> {
  const name = params['name'] ?? params['uri'] ?? params['taskId'];
  return {
    'MCP-Protocol-Version': '2026-07-28',
    'Mcp-Method': method,
    ...(typeof name === 'string' ? { 'Mcp-Name': name } : {}),
  };
}

export interface McpAnswer {
  readonly status: number;
  readonly id?: string | number;
  readonly result?: Params;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: Params };
}

/** Sends a body with any header fields, and reads the last message of the answer. */
export async function post(
  chain: Chain,
  body: unknown,
  headers: Record<string, string> | readonly (readonly [string, string])[] = {},
): Promise<InjectedResponse> {
  return inject(chain, { method: 'POST', path: '/mcp', body, headers });
}

export function messagesOf({ headers, body }: InjectedResponse): Record<string, unknown>[] {
  if (body === '') return [];
  if (headers['content-type'] !== 'text/event-stream') return [JSON.parse(body) as Record<string, unknown>];
  return body
    .split('\n\n')
    .filter((event) => event !== '')
    .map((event) => {
      const [, data = ''] = /^event: message\ndata: (.*)$/.exec(event) ?? [];
      return JSON.parse(data) as Record<string, unknown>;
    });
}

export async function ask(
  chain: Chain,
  method: string,
  params: Params = {},
  headers: Record<string, string> = {},
): Promise<McpAnswer> {
  const response = await post(chain, bodyOf(method, params), { ...fieldsOf(method, params), ...headers });
  return { status: response.status, ...messagesOf(response).at(-1) };
}

/** The code of the error, beside the status. */
export async function refusalOf(
  ...asked: Parameters<typeof ask>
): Promise<readonly [number, number | undefined]> {
  const { status, error } = await ask(...asked);
  return [status, error?.code];
}

/** The value without one of its members. */
export function without<Value extends object, Name extends string & keyof Value>(
  value: Value,
  name: Name,
): Omit<Value, Name> {
  return Object.fromEntries(Object.entries(value).filter(([each]) => each !== name)) as Omit<Value, Name>;
}
