import type { Json, JsonObject } from './canonical-json.ts';
import { isJsonList } from './json-kinds.ts';

const arrayIndex = /^(?:0|[1-9]\d{0,8})$/;

/** Whether `text` is a JSON Pointer (RFC 6901): empty, or segments that begin with a slash. */
export function isJsonPointer(text: string): boolean {
  return text === '' || (text.startsWith('/') && !/~(?![01])/.test(text));
}

/** The value at a JSON Pointer; `undefined` if there is none. Inherited members are no values. */
export function valueAtPointer(value: Json | undefined, pointer: string): Json | undefined {
  if (!isJsonPointer(pointer)) return undefined;
  let found = value;
  for (const segment of pointer.split('/').slice(1)) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = memberOf(found, segment.replaceAll('~1', '/').replaceAll('~0', '~'));
  }
  return found;
}

function memberOf(value: readonly Json[] | JsonObject, name: string): Json | undefined {
  if (isJsonList(value)) return arrayIndex.test(name) ? value[Number(name)] : undefined;
  return Object.hasOwn(value, name) ? value[name] : undefined;
}
