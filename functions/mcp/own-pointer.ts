import type { JsonObject } from '../kernel/canonical-json.ts';
import { isJsonObject } from '../kernel/json-kinds.ts';
import { AS_GIVEN } from './own-words.ts';

/**
 * A JSON Pointer into the arguments without the names that the caller chose: an index stays, and a name of the schema, wherever
 * the schema has it. A pointer that was cut may end in a part of a name, which goes too.
 */
export function ownPointer(pointer: string, inputSchema: JsonObject): string {
  const names = namesOf(inputSchema);
  return pointer
    .split('/')
    .map((segment) => (ownSegment.test(segment) || names.has(segment) ? segment : AS_GIVEN))
    .join('/');
}

/** An index, or nothing, as before the first slash. */
const ownSegment = /^\d{0,16}$/;

const known = new WeakMap<JsonObject, ReadonlySet<string>>();

/** A schema is walked once. */
function namesOf(inputSchema: JsonObject): ReadonlySet<string> {
  const names = known.get(inputSchema) ?? new Set(memberNames(inputSchema));
  known.set(inputSchema, names);
  return names;
}

function memberNames(schema: unknown): string[] {
  if (Array.isArray(schema)) return schema.flatMap(memberNames);
  if (!isJsonObject(schema)) return [];
  return Object.entries(schema).flatMap(([keyword, value]) =>
    keyword === 'properties' && isJsonObject(value)
      ? [...Object.keys(value), ...Object.values(value).flatMap(memberNames)]
      : memberNames(value),
  );
}
