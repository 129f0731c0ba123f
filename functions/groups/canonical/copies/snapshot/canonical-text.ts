import { canonicalJson, type Json } from '../../../../kernel/canonical-json.ts';

/**
 * As `canonicalJson`, for values that mostly have their members in order already, because they were read from canonical
 * text: of those the engine's own writer gives the same text, three times as fast.
 */
export function canonicalText(value: Json): string {
  return inOrder(value) ? JSON.stringify(value) : canonicalJson(value);
}

/** Whether the text that `JSON.stringify` makes is the canonical one. `canonicalJson` refuses a value without one. */
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

/** How many bytes the canonical text of a JSON value has at most, computed without building the text. */
export function bytesAtMost(value: Json): number {
  // A UTF-16 unit takes six bytes where it is escaped, and a number 25.
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

/** Whether two JSON values have one canonical text. */
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
