import { itemsInSteps, membersInSteps, objectOf } from '../../kernel/json-slices.ts';

/** The items of one array of a JSON text, each as it is written, and the text around them. */
export interface RequestItems {
  /** The text with an empty array in place of the items. */
  readonly frame: string;
  readonly items: readonly string[];
}

/**
 * Cuts a compact JSON text at the items of an array. `path` names the array from the outermost object inwards. Returns `null` if
 * there is no array. Works in steps: a request may have 32 MB.
 */
export function* splitInSteps(
  text: string,
  [name = '', ...rest]: readonly string[],
): Generator<void, RequestItems | null> {
  if (!text.startsWith('{')) return null;
  const members = yield* membersInSteps(text);
  const found = members.find((member) => member.name === name);
  if (found === undefined) return null;
  const inner = yield* rest.length === 0 ? splitArray(found.value) : splitInSteps(found.value, rest);
  if (inner === null) return null;
  const around = members.map((member) => (member === found ? { name, value: inner.frame } : member));
  return { frame: objectOf(around), items: inner.items };
}

function* splitArray(text: string): Generator<void, RequestItems | null> {
  return text.startsWith('[') ? { frame: '[]', items: yield* itemsInSteps(text) } : null;
}
