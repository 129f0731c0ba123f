import { isJsonObject, type JsonMembers } from '../../kernel/json-kinds.ts';
import type { ToolDefinition } from '../catalog.ts';

/**
 * The members that may be null in the result of a task, by the output schemas of all tools that answer tasks: a name counts
 * where no model gives it a type without null.
 */
export function nullableMembers(definitions: readonly ToolDefinition[]): ReadonlySet<string> {
  const allowed = new Set<string>();
  const others = new Set<string>();
  for (const { outputSchema = {} } of definitions)
    for (const [name, schema] of Object.entries(membersOf(outputSchema)))
      (allowsNull(schema) ? allowed : others).add(name);
  return new Set([...allowed].filter((name) => !others.has(name)));
}

/** The members of the model that the schema names beside the one of a part. */
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
  // Such as the result of a handler, which may be any value.
  if (!constraints.some((keyword) => Object.hasOwn(schema, keyword))) return true;
  if (Array.isArray(anyOf)) return anyOf.some(allowsNull);
  return type === 'null' || (Array.isArray(type) && type.includes('null'));
}
