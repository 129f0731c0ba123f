import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import { invalidMember } from '../../kernel/errors.ts';

/** A place in a record. `text` is its JSON Pointer, which is the same for both spellings of a path. */
export interface RecordPath {
  readonly text: string;
  readonly segments: readonly string[];
}

export const POINTER_WORDS =
  'must be a JSON Pointer whose segments hold letters, digits, _ and -, such as /metadata/type';

const pointerForm = /^(?:\/[A-Za-z0-9_-]+)+$/;
const dollarForm = /^\$(?:\.[A-Za-z0-9_-]+)+$/;
const arrayIndex = /^(?:0|[1-9]\d{0,8})$/;

/** Members whose names a path may write in any case. */
const anyCase: ReadonlyMap<string, string> = new Map(
  ['id', 'partitionKey', 'updatedAt', 'revision'].map((name) => [name.toLowerCase(), name]),
);

/** Reads `/a/b` or `$.a.b`. Throws `validation_failed` naming `pointer`. */
export function readPath(text: string, pointer: string): RecordPath {
  if (!pointerForm.test(text) && !dollarForm.test(text)) {
    throw invalidMember(pointer, POINTER_WORDS);
  }
  const segments = text.replace(/^\$/, '').split(/[/.]/).slice(1);
  const [only = ''] = segments;
  const named = segments.length === 1 ? [anyCase.get(only.toLowerCase()) ?? only] : segments;
  return { text: `/${named.join('/')}`, segments: named };
}

/** Whether `text` is a JSON Pointer that a policy may index. */
export function isIndexPointer(text: string): boolean {
  return pointerForm.test(text);
}

/** The value at `path`; `undefined` where the record has none. Inherited members are no values of a record. */
export function valueAt(record: JsonObject, path: RecordPath): Json | undefined {
  let value: Json | undefined = record;
  for (const segment of path.segments) {
    if (value === null || typeof value !== 'object') return undefined;
    if (isList(value)) {
      value = arrayIndex.test(segment) ? value[Number(segment)] : undefined;
    } else {
      value = Object.hasOwn(value, segment) ? value[segment] : undefined;
    }
    if (value === undefined) return undefined;
  }
  return value;
}

function isList(value: readonly Json[] | JsonObject): value is readonly Json[] {
  return Array.isArray(value);
}
