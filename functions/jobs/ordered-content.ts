import type { Json, JsonObject } from '../kernel/canonical-json.ts';

/**
 * Content for a checkpoint that keeps the order of a value's members. Plain content returns in the order of canonical JSON, so the
 * result of a job would differ after the crash of a worker.
 */
export function orderedContent(value: unknown): JsonObject {
  return { json: JSON.stringify(value) };
}

export function valueOfOrdered<Value>(content: Json): Value {
  return JSON.parse((content as { readonly json: string }).json) as Value;
}
