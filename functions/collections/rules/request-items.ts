import { itemsOf, membersOf, objectOf } from '../../kernel/json-slices.ts';

/** The items of one array of a JSON text, each as it is written, and the text around them. */
export interface RequestItems {
  /** The text with an empty array in place of the items. */
  readonly frame: string;
  readonly items: readonly string[];
}

/**
 * Cuts a compact JSON text at the items of an array. `path` names the array from the outermost object inwards. `null` where the
 * text has no array there.
 */
export function splitItems(text: string, [name = '', ...rest]: readonly string[]): RequestItems | null {
  if (!text.startsWith('{')) return null;
  const members = membersOf(text);
  const found = members.find((member) => member.name === name);
  if (found === undefined) return null;
  const inner = rest.length === 0 ? splitArray(found.value) : splitItems(found.value, rest);
  if (inner === null) return null;
  const around = members.map((member) => (member === found ? { name, value: inner.frame } : member));
  return { frame: objectOf(around), items: inner.items };
}

function splitArray(text: string): RequestItems | null {
  return text.startsWith('[') ? { frame: '[]', items: itemsOf(text) } : null;
}
