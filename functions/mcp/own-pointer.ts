import type { JsonObject } from '../kernel/canonical-json.ts';
import { isJsonObject } from '../kernel/json-kinds.ts';
import { AS_GIVEN } from './own-words.ts';

/**
 * A JSON Pointer into the arguments, with `(as given)` in place of names that the caller chose. Indexes stay, and names that occur
 * anywhere in the schema. A shortened pointer may end in a part of a name, which is replaced too.
 */
export function ownPointer(pointer: string, inputSchema: JsonObject): string {
  const names = namesOf(inputSchema);
  return pointer
    .split('/')
    .map((segment) => (ownSegment.test(segment) || names.has(segment) ? segment : AS_GIVEN))
    .join('/');
}

/** An index, or the empty text before the first slash. */
const ownSegment = /^\d{0,16}$/;

const known = new WeakMap<JsonObject, ReadonlySet<string>>();

/** Collects the names once for each schema. */
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
