import type { McpCall } from './envelope.ts';
import { foreignHeader, headerMismatch } from './errors.ts';
import type { FieldValue, MirrorFields } from './header-fields.ts';

export type NamedMessage = Pick<McpCall, 'method' | 'params'>;

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
 * `mayLack`: clients of older revisions do not send the headers. A header that is sent agrees in every revision. One without a value to
 * repeat is ignored in 2026-07-28, and refused in older revisions, whose clients have no reason to send it.
 */
export function checkMethodHeaders(message: NamedMessage, fields: MirrorFields, mayLack: boolean): void {
  const method = fields.plain('Mcp-Method');
  if (!agrees(method, message.method, mayLack))
    throw headerMismatch('Mcp-Method', method, 'the method of the body');
  const member = Object.hasOwn(named, message.method) ? named[message.method] : undefined;
  if (member === undefined && mayLack && fields.plain('Mcp-Name') !== 'absent')
    throw foreignHeader('Mcp-Name');
  const source = member === undefined ? undefined : message.params[member];
  // A later check refuses parameters without this member.
  if (typeof source !== 'string') return;
  const name = fields.encoded('Mcp-Name');
  if (!agrees(name, source, mayLack)) throw headerMismatch('Mcp-Name', name, `params.${member} of the body`);
}

function agrees(field: FieldValue, source: string, mayLack: boolean): boolean {
  if (field === 'absent') return mayLack;
  return field !== 'malformed' && field.value === source;
}
