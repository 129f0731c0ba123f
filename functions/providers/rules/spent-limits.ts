import { type GuardLimits, type GuardState, inPeriods, shareIn } from './guard.ts';
import type { Quotas, SpentLimit } from './models-and-quotas.ts';
import { countOf } from './space-counts.ts';

/**
 * The use of a space's share of a provider's limits. It hides the use of other spaces, unless the settings let every space use all
 * of a limit.
 */
export function spentOf(
  state: GuardState,
  { callsPerMinute, tokensPerDayMax, spaceSharePercent }: GuardLimits,
  { space, now }: { readonly space: string; readonly now: number },
): Quotas {
  const current = inPeriods(state, now);
  const own = spaceSharePercent < 100 ? countOf(current.state.spaces, space) : current.state;
  const spent = (used: number, limit: number | null, endsAfterMs: number): SpentLimit | null =>
    limit === null ? null : { used, max: shareIn(limit, spaceSharePercent), resetsAt: now + endsAfterMs };
  return {
    callsOfMinute: spent(own.calls, callsPerMinute, current.minuteEndsAfterMs),
    tokensOfDay: spent(own.tokens, tokensPerDayMax, current.dayEndsAfterMs),
  };
}
