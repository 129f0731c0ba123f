/** The counts that a guard keeps for each space. Pure. */

/**
 * The most spaces with counts of their own; the others share one.
 * @testonly
 */
export const SPACES_MAX = 32;

/** The count that the others share. */
export const OTHERS = '';

export interface ProviderSpaceCount {
  /** Names the space in the record of the guard, and nowhere else. */
  readonly tag: string;
  /** Calls of this minute. */
  readonly calls: number;
  /** Tokens of this day. */
  readonly tokens: number;
  /** Calls in a row that failed. */
  readonly failures: number;
  /** The failures in a row since the provider last answered a call of any space. */
  readonly unanswered: number;
  /** When the last failure in a row ended; `null` without one. */
  readonly failedAt: number | null;
  /** No call of the space is made before this time; `null` while calls are made. */
  readonly restsUntil: number | null;
}

export type ProviderSpaceCounts = readonly ProviderSpaceCount[];

const NOTHING = {
  calls: 0,
  tokens: 0,
  failures: 0,
  unanswered: 0,
  failedAt: null,
  restsUntil: null,
} as const;

/** The count that holds for a space: its own, or that of the others where the record has no room for it. */
export function countOf(counts: ProviderSpaceCounts, tag: string): ProviderSpaceCount {
  const own = counts.find((each) => each.tag === tag);
  if (own !== undefined) return own;
  const named = counts.filter((each) => each.tag !== OTHERS);
  if (named.length < SPACES_MAX || named.some(isIdle)) return { tag, ...NOTHING };
  return counts.find((each) => each.tag === OTHERS) ?? { tag: OTHERS, ...NOTHING };
}

/** The counts with this one, which `countOf` gave. It may take the place of an idle space with the fewest tokens. */
export function withCount(counts: ProviderSpaceCounts, count: ProviderSpaceCount): ProviderSpaceCounts {
  const at = counts.findIndex((each) => each.tag === count.tag);
  if (at >= 0) return counts.with(at, count);
  const named = counts.filter((each) => each.tag !== OTHERS);
  if (count.tag === OTHERS || named.length < SPACES_MAX) return [...counts, count];
  const [leaves] = named.filter(isIdle).sort((left, right) => left.tokens - right.tokens);
  return [...counts.filter((each) => each !== leaves), count];
}

/** The counts in a new minute, or a new day, without spaces that have none. */
export function countsOfPeriod(
  counts: ProviderSpaceCounts,
  begun: Partial<ProviderSpaceCount>,
): ProviderSpaceCounts {
  return counts.map((each) => ({ ...each, ...begun })).filter((each) => !isIdle(each) || each.tokens > 0);
}

function isIdle({ calls, failures, restsUntil }: ProviderSpaceCount): boolean {
  return calls === 0 && failures === 0 && restsUntil === null;
}
