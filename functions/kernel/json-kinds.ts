import type { Json, JsonObject } from './canonical-json.ts';

/** The members of an object whose values are not known to be JSON, such as those of a parsed token or of a client's message. */
export type JsonMembers = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonMembers;
// The last overload is the one that `filter` sees.
export function isJsonObject(value: Json | undefined): value is JsonObject;
export function isJsonObject(value: unknown): value is JsonMembers {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isJsonList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

/** The value where it is an object, else an empty one. */
export function objectOrEmpty(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** Whether lists and objects are nested at most `most` deep. Walks without recursion: the value may be deep. */
export function isWithinDepth(value: Json, most: number): boolean {
  let level: readonly Json[] = [value];
  for (let depth = 0; depth <= most; depth += 1) {
    const inner = level.filter((each) => typeof each === 'object' && each !== null);
    if (inner.length === 0) return true;
    level = inner.flatMap((each) => Object.values<Json>(each));
  }
  return false;
}
