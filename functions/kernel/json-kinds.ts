import type { Json, JsonObject } from './canonical-json.ts';

export function isJsonObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isJsonList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

/** The value where it is an object, else an empty one. */
export function objectOrEmpty(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}
