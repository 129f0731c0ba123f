import { canonicalJson, type Json } from '../../../../kernel/canonical-json.ts';

/**
 * Does the same as `canonicalJson`, faster for values that were read from canonical text: if their members are in order,
 * `JSON.stringify` gives the same text in a third of the time.
 */
export function canonicalText(value: Json): string {
  return inOrder(value) ? JSON.stringify(value) : canonicalJson(value);
}

/** Whether `JSON.stringify` gives the canonical text. `canonicalJson` refuses a value without a canonical text. */
function inOrder(value: Json): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return value !== undefined;
  if (Array.isArray(value)) {
    for (const item of value) if (!inOrder(item as Json)) return false;
    return true;
  }
  const object = value as { readonly [member: string]: Json };
  let last: string | undefined;
  for (const name of Object.keys(object)) {
    if ((last !== undefined && name <= last) || !name.isWellFormed()) return false;
    last = name;
    if (!inOrder(object[name] as Json)) return false;
  }
  return true;
}

/** An upper bound for the bytes of the canonical text of a JSON value, computed without the text. */
export function bytesAtMost(value: Json): number {
  // An escaped UTF-16 unit takes six bytes, and a number at most 25.
  if (typeof value === 'string') return 2 + 6 * value.length;
  if (typeof value !== 'object' || value === null) return 25;
  let bytes = 2;
  if (Array.isArray(value)) {
    for (const item of value) bytes += 1 + bytesAtMost(item as Json);
    return bytes;
  }
  const object = value as { readonly [member: string]: Json };
  for (const name of Object.keys(object)) bytes += 4 + 6 * name.length + bytesAtMost(object[name] as Json);
  return bytes;
}

/** Whether two JSON values have the same canonical text. */
export function sameJson(left: Json, right: Json): boolean {
  if (left === right) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  if (Array.isArray(left) !== Array.isArray(right)) return false;
  const [one, other] = [
    left as { readonly [member: string]: Json },
    right as { readonly [member: string]: Json },
  ];
  const names = Object.keys(one);
  if (names.length !== Object.keys(other).length) return false;
  return names.every(
    (name) => Object.hasOwn(other, name) && sameJson(one[name] as Json, other[name] as Json),
  );
}
