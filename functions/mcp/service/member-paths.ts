import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import { isJsonObject } from '../../kernel/json-kinds.ts';

/** Members of an answer by their paths from it, such as `projection/nodes`. */

/** The value at the path; `undefined` if an object on the way lacks the name. */
export function valueAtPath(value: Json, path: string): Json | undefined {
  return path.split('/').reduce<Json | undefined>((at, name) => memberOf(at, name), value);
}

function memberOf(value: Json | undefined, name: string): Json | undefined {
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** The object with the value at the path, in the place of the former one. */
export function withValueAtPath(whole: JsonObject, path: string, value: Json): JsonObject {
  const [name = '', ...rest] = path.split('/');
  if (rest.length === 0) return { ...whole, [name]: value };
  const below = memberOf(whole, name);
  return { ...whole, [name]: withValueAtPath(isJsonObject(below) ? below : {}, rest.join('/'), value) };
}
