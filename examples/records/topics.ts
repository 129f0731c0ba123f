/**
 * The vector of a text: how often it speaks of each of 64 topics. A model of a language would know more of a text; this rule can
 * be read, and gives the same numbers everywhere. 64 is one of the dimensions that Firestore has an index for.
 */
export const topics =
  `access answer archive artifact attack batch caller checkpoint client cloud collection commit consumer copy cost database
  delete deploy dispatch document error event export fence file filter firestore function handler header identity idempotency
  import index key kill lease limit list memory migration moment page partition policy postgresql prune query queue record
  release replay restore retry revision run secret setting snapshot sqlite store tenant token worker`.split(
    /\s+/,
  );

/** `null` for a text that speaks of none of them: a search by vector then does not find the record. */
export function topicsOf(text: string): readonly number[] | null {
  const words = text.toLowerCase().match(/[a-z]+/g) ?? [];
  const counts = topics.map((topic) => words.filter((word) => word.startsWith(topic)).length);
  return counts.some((count) => count > 0) ? counts : null;
}

/** From 0, for texts that share no topic, to 1, for those that speak of the same ones in the same proportion. */
export function likeness(left: readonly number[], right: readonly number[]): number {
  return product(left, right) / Math.sqrt(product(left, left) * product(right, right));
}

function product(left: readonly number[], right: readonly number[]): number {
  return left.reduce((sum, value, at) => sum + value * (right[at] ?? 0), 0);
}
