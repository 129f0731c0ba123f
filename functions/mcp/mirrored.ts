import type { McpCall } from './envelope.ts';
import { type RequestMeta, readMeta, versionOf } from './envelope.ts';
import { headerMismatch, invalidMeta, REVISION, unsupportedVersion } from './errors.ts';
import type { MirrorFields } from './header-fields.ts';

const VERSION_HEADER = 'MCP-Protocol-Version';

/** Compares the version in the header with the body, then with the revision, then reads `_meta`. */
export function checkVersion(call: McpCall, fields: MirrorFields): RequestMeta {
  const field = fields.plain(VERSION_HEADER);
  if (field === 'absent' && call.method === 'initialize') throw unsupportedVersion(oldVersionOf(call));
  if (typeof field === 'string') throw headerMismatch(VERSION_HEADER);
  const named = versionOf(call);
  if (named === undefined) {
    if (field.value !== REVISION) throw unsupportedVersion(field.value);
    throw invalidMeta('Invalid _meta: the protocol version is missing');
  }
  if (named !== field.value) throw headerMismatch(VERSION_HEADER);
  if (named !== REVISION) throw unsupportedVersion(named);
  return readMeta(call);
}

/** Clients of earlier revisions name their version in the parameters of `initialize`. The refusal names the supported version. */
function oldVersionOf({ params }: McpCall): string {
  const { protocolVersion } = params;
  return typeof protocolVersion === 'string' ? protocolVersion : '';
}

/** The parameter that `Mcp-Name` repeats, by method. */
const named: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

export function checkMethodHeaders({ method, params }: McpCall, fields: MirrorFields): void {
  const field = fields.plain('Mcp-Method');
  if (typeof field === 'string' || field.value !== method) throw headerMismatch('Mcp-Method');
  const member = Object.hasOwn(named, method) ? named[method] : undefined;
  const source = member === undefined ? undefined : params[member];
  // A later check refuses parameters without this member.
  if (typeof source !== 'string') return;
  const name = fields.encoded('Mcp-Name');
  if (typeof name === 'string' || name.value !== source) throw headerMismatch('Mcp-Name');
}
