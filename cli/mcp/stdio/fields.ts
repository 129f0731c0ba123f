import { type ForwardedMessage, isMembers, type Members } from './message.ts';

/** The header fields with which a message travels to the service. */

type Field = readonly [name: string, value: string];

const VERSION = 'io.modelcontextprotocol/protocolVersion';

/** The parameter that `Mcp-Name` repeats, by method. */
const named: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

/**
 * A message of 2026-07-28 names its revision itself, and its fields mirror the body. Messages of older revisions travel with the
 * version that `initialize` has agreed on, and `initialize` with none.
 */
export function fieldsOf({ method, params }: ForwardedMessage, negotiated: string | null): readonly Field[] {
  const own = revisionIn(params);
  if (own === undefined) {
    const isKnown = negotiated !== null && method !== 'initialize';
    return isKnown ? [['MCP-Protocol-Version', encodedField(negotiated)]] : [];
  }
  const member = Object.hasOwn(named, method) ? named[method] : undefined;
  const source = member === undefined ? undefined : params[member];
  return [
    ['MCP-Protocol-Version', encodedField(own)],
    ['Mcp-Method', encodedField(method)],
    ...(typeof source === 'string' ? [['Mcp-Name', encodedField(source)] as const] : []),
  ];
}

function revisionIn(params: Members): string | undefined {
  const meta = params['_meta'];
  const version = isMembers(meta) ? meta[VERSION] : undefined;
  return typeof version === 'string' ? version : undefined;
}

/** Printable ASCII as it is, anything else as Base64 of UTF-8 between the marks of the revision. */
function encodedField(value: string): string {
  const isPlain = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(value);
  if (isPlain && !(value.startsWith('=?base64?') && value.endsWith('?='))) return value;
  return `=?base64?${Buffer.from(value, 'utf8').toString('base64')}?=`;
}
