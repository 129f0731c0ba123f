import type { McpCall } from './envelope.ts';
import { headerMismatch } from './errors.ts';
import type { FieldValue, MirrorFields } from './header-fields.ts';

/** The parameter that `Mcp-Name` repeats, by method. */
const named: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

/** `mayLack`: clients of older revisions do not send the headers. A header that is sent agrees in every revision. */
export function checkMethodHeaders(call: McpCall, fields: MirrorFields, mayLack: boolean): void {
  const method = fields.plain('Mcp-Method');
  if (!agrees(method, call.method, mayLack))
    throw headerMismatch('Mcp-Method', method, 'the method of the body');
  const member = Object.hasOwn(named, call.method) ? named[call.method] : undefined;
  const source = member === undefined ? undefined : call.params[member];
  // A later check refuses parameters without this member.
  if (typeof source !== 'string') return;
  const name = fields.encoded('Mcp-Name');
  if (!agrees(name, source, mayLack)) throw headerMismatch('Mcp-Name', name, `params.${member} of the body`);
}

function agrees(field: FieldValue, source: string, mayLack: boolean): boolean {
  if (field === 'absent') return mayLack;
  return field !== 'malformed' && field.value === source;
}
