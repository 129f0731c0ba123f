import type { Json, JsonObject } from '../kernel/canonical-json.ts';

/**
 * The content of a checkpoint that gives a value back with its members in the order that they have. Other content comes back in the
 * order of canonical JSON, so the result of a job would tell whether a worker has died.
 */
export function orderedContent(value: unknown): JsonObject {
  return { json: JSON.stringify(value) };
}

export function valueOfOrdered<Value>(content: Json): Value {
  return JSON.parse((content as { readonly json: string }).json) as Value;
}
