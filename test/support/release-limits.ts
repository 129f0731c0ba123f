import type { Limit } from '../../scripts/release-contract.ts';

/** Whether the published limits still allow what an earlier release allowed. */

/** The direction of a limit: a caller within the released value stays within the later one. */
type Direction = 'up' | 'down' | 'nowhere';

/**
 * The directions of the limits whose names end in neither Max nor Min. A default that callers rely on stays as it is; a
 * limit that guards the service may be eased.
 */
export const directions: Readonly<Record<string, Direction>> = {
  queryLimitDefault: 'nowhere',
  outboxLeaseItemsDefault: 'nowhere',
  outboxLeaseSecondsDefault: 'nowhere',
  outboxRetryAfterSecondsDefault: 'nowhere',
  archiveChunkBytesDefault: 'nowhere',
  requestBodySeconds: 'up',
  rateLimitPermitsDefault: 'up',
  rateLimitPermitsDevelopmentDefault: 'up',
  executionRateLimitPermitsDefault: 'up',
  executionRateLimitPermitsDevelopmentDefault: 'up',
  workerRateLimitPermitsDefault: 'up',
  workerRateLimitPermitsDevelopmentDefault: 'up',
  publicRateLimitPermitsDefault: 'up',
  recordRateLimitPermitsDefault: 'up',
  recordRateLimitPermitsDevelopmentDefault: 'up',
  rateLimitWindowSecondsDefault: 'down',
  rateLimitQueueDefault: 'up',
  executionPayloadBytesDefault: 'up',
  executionResultBytesDefault: 'up',
  executionLeaseSecondsDefault: 'nowhere',
  executionLeaseExpirationsDefault: 'up',
  executionActiveRunsDefault: 'up',
  executionRetainedRunsDefault: 'up',
  executionCancelGraceSecondsDefault: 'nowhere',
  executionListLimitDefault: 'nowhere',
  executionHistoryLimitDefault: 'nowhere',
  recordJobListLimitDefault: 'nowhere',
  embeddingJobListLimitDefault: 'nowhere',
  graphJobListLimitDefault: 'nowhere',
  graphTargetRecordsDefault: 'nowhere',
  ragJobListLimitDefault: 'nowhere',
  retrievalJobListLimitDefault: 'nowhere',
  providerJobListLimitDefault: 'nowhere',
  retrievalLimitDefault: 'nowhere',
  traceListLimitDefault: 'nowhere',
  objectListLimitDefault: 'nowhere',
  anomaliesDefault: 'nowhere',
  searchVectorTopDefault: 'nowhere',
  searchLexicalTopDefault: 'nowhere',
  searchScanLimitDefault: 'nowhere',
  executionQuietTimesDefault: 'nowhere',
  executionConcurrencyRetryDelayMsDefault: 'down',
};

const kept: Readonly<Record<Direction, (released: number, now: number) => boolean>> = {
  up: (released, now) => now >= released,
  down: (released, now) => now <= released,
  nowhere: (released, now) => now === released,
};

/** A ceiling may rise, a floor may fall. */
function directionOf(name: string): Direction | undefined {
  if (name.endsWith('Max')) return 'up';
  if (name.endsWith('Min')) return 'down';
  return Object.hasOwn(directions, name) ? directions[name] : undefined;
}

export function limitFaults(released: readonly Limit[], now: readonly Limit[]): string[] {
  // Asked of the new ones as well, so that the question is answered before they are released.
  const names = new Set([...released, ...now].map(({ name }) => name));
  const unknown = [...names]
    .filter((name) => directionOf(name) === undefined)
    .map((name) => `${name} may go where? Say so in test/support/release-limits.ts`);
  return [...unknown, ...released.flatMap((limit) => narrowed(limit, now))];
}

function narrowed({ name, value, unit }: Limit, all: readonly Limit[]): string[] {
  const now = all.find((each) => each.name === name);
  if (now === undefined) return [`${name} is gone`];
  if (now.unit !== unit) return [`${name} counts ${now.unit}, no longer ${unit}`];
  const direction = directionOf(name);
  if (direction === undefined || kept[direction](value, now.value)) return [];
  return [`${name} went from ${value} to ${now.value}, it may go ${direction}`];
}
