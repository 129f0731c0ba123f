import { isJsonObject, type JsonMembers } from '../../kernel/json-kinds.ts';
import type { ToolDefinition } from '../catalog.ts';

/**
 * The members that may be null in the result of a task. A name counts if the output schemas of all tools with tasks allow null for
 * it.
 */
export function nullableMembers(definitions: readonly ToolDefinition[]): ReadonlySet<string> {
  const allowed = new Set<string>();
  const others = new Set<string>();
  for (const { outputSchema = {} } of definitions)
    for (const [name, schema] of Object.entries(membersOf(outputSchema)))
      (allowsNull(schema) ? allowed : others).add(name);
  return new Set([...allowed].filter((name) => !others.has(name)));
}

/** The members of the whole answer. The schema names its model first, before the model of a part. */
function membersOf({ anyOf, $defs }: JsonMembers): JsonMembers {
  const [first] = Array.isArray(anyOf) ? (anyOf as readonly JsonMembers[]) : [];
  const name = String(first?.['$ref']).slice('#/$defs/'.length);
  const model = ($defs as JsonMembers | undefined)?.[name] as JsonMembers | undefined;
  return (model?.['properties'] ?? {}) as JsonMembers;
}

const constraints = ['type', 'anyOf', 'allOf', 'oneOf', '$ref', 'enum', 'const', 'not'];

function allowsNull(schema: unknown): boolean {
  if (!isJsonObject(schema)) return schema === true;
  const { type, anyOf } = schema;
  // A schema without constraints allows any value, such as the result of a handler.
  if (!constraints.some((keyword) => Object.hasOwn(schema, keyword))) return true;
  if (Array.isArray(anyOf)) return anyOf.some(allowsNull);
  return type === 'null' || (Array.isArray(type) && type.includes('null'));
}
