import type { protos } from '@google-cloud/tasks';
import type { QueueRecord, RateLimits, RetryRules } from './model.ts';
import { CallRefusal, invalid } from './refusal.ts';
import { msOfDuration } from './wire-time.ts';

/** The queue settings of a request, validated and completed. */

export type WireQueue = protos.google.cloud.tasks.v2.IQueue;

type Settings = Pick<QueueRecord, 'rateLimits' | 'retry' | 'loggingRatio'>;

const rateMax = 500;
const concurrentMax = 5000;
const burstMin = 10;
const burstMax = 500;

const defaults: Settings = {
  rateLimits: { maxDispatchesPerSecond: rateMax, maxBurstSize: 100, maxConcurrentDispatches: 1000 },
  retry: {
    maxAttempts: 100,
    maxRetryDurationMs: 0,
    minBackoffMs: 100,
    maxBackoffMs: 3_600_000,
    maxDoublings: 16,
  },
  loggingRatio: null,
};

/** For a created queue, or an update without a mask: absent settings take their defaults. */
export function settingsOf(queue: WireQueue): Settings {
  return checked(queue, completed(queue));
}

function completed(queue: WireQueue): Settings {
  const logging = queue.stackdriverLoggingConfig;
  return {
    rateLimits: rateLimitsOf(queue),
    retry: retryOf(queue, false),
    loggingRatio: logging ? (logging.samplingRatio ?? 0) : null,
  };
}

// Output only, or fixed: values for them are ignored.
const ignoredPaths = new Set(['name', 'state', 'purge_time', 'rate_limits.max_burst_size']);

/** Maps the paths of a mask to the names in this code. */
const rateMembers: ReadonlyMap<string, keyof RateLimits> = new Map([
  ['max_dispatches_per_second', 'maxDispatchesPerSecond'],
  ['max_concurrent_dispatches', 'maxConcurrentDispatches'],
]);
const retryMembers: ReadonlyMap<string, keyof RetryRules> = new Map([
  ['max_attempts', 'maxAttempts'],
  ['max_retry_duration', 'maxRetryDurationMs'],
  ['min_backoff', 'minBackoffMs'],
  ['max_backoff', 'maxBackoffMs'],
  ['max_doublings', 'maxDoublings'],
]);

/** For an update: takes only the members that the mask names. */
export function settingsUpdated(current: Settings, queue: WireQueue, paths: readonly string[]): Settings {
  if (paths.length === 0) return settingsOf(queue);
  const all = completed(queue);
  let { rateLimits, retry, loggingRatio } = current;
  for (const path of paths) {
    if (ignoredPaths.has(path)) continue;
    const [area = '', member, ...rest] = path.split('.');
    const rateMember = rateMembers.get(member ?? '');
    const retryMember = retryMembers.get(member ?? '');
    if (rest.length > 0) throw unknownPath(path);
    if (area === 'rate_limits' && member === undefined) rateLimits = all.rateLimits;
    else if (area === 'rate_limits' && rateMember !== undefined)
      rateLimits = { ...rateLimits, [rateMember]: all.rateLimits[rateMember] };
    else if (area === 'retry_config' && member === undefined) retry = all.retry;
    else if (area === 'retry_config' && retryMember !== undefined)
      // With the mask, an absent count means no doublings: the wire has no other form for 0.
      retry = { ...retry, [retryMember]: retryOf(queue, true)[retryMember] };
    else if (path === 'stackdriver_logging_config' || path === 'stackdriver_logging_config.sampling_ratio')
      loggingRatio = all.loggingRatio;
    else if (area === 'app_engine_routing_override' && member === undefined) continue;
    else throw unknownPath(path);
  }
  rateLimits = { ...rateLimits, maxBurstSize: burstOf(rateLimits.maxDispatchesPerSecond) };
  return checked(queue, { rateLimits, retry, loggingRatio });
}

function unknownPath(path: string): CallRefusal {
  return invalid(`The update mask names ${JSON.stringify(path)}, which no queue has. Paths are snake_case.`);
}

/** In a message, 0 and absent are the same: the default. */
function rateLimitsOf({ rateLimits }: WireQueue): RateLimits {
  const rate = rateLimits?.maxDispatchesPerSecond || defaults.rateLimits.maxDispatchesPerSecond;
  return {
    maxDispatchesPerSecond: rate,
    maxBurstSize: burstOf(rate),
    maxConcurrentDispatches:
      rateLimits?.maxConcurrentDispatches || defaults.rateLimits.maxConcurrentDispatches,
  };
}

/** Output only: Cloud Tasks derives it from the rate, at most 100. */
function burstOf(rate: number): number {
  return Math.min(burstMax, Math.max(burstMin, Math.ceil(rate / 5)));
}

function retryOf({ retryConfig }: WireQueue, zeroDoublings: boolean): RetryRules {
  const given = retryConfig ?? {};
  const { retry } = defaults;
  return {
    maxAttempts: given.maxAttempts || retry.maxAttempts,
    maxRetryDurationMs: given.maxRetryDuration
      ? wholeSeconds(msOfDuration(given.maxRetryDuration, 'RetryConfig.maxRetryDuration'))
      : retry.maxRetryDurationMs,
    minBackoffMs: given.minBackoff
      ? cutBackoff(msOfDuration(given.minBackoff, 'RetryConfig.minBackoff'))
      : retry.minBackoffMs,
    maxBackoffMs: given.maxBackoff
      ? cutBackoff(msOfDuration(given.maxBackoff, 'RetryConfig.maxBackoff'))
      : retry.maxBackoffMs,
    maxDoublings: zeroDoublings ? (given.maxDoublings ?? 0) : given.maxDoublings || retry.maxDoublings,
  };
}

function wholeSeconds(ms: number): number {
  return Math.floor(ms / 1000) * 1000;
}

/** Whole seconds, but unchanged below one second: the default is a tenth and must survive a round trip. */
function cutBackoff(ms: number): number {
  return ms < 1000 ? Math.floor(ms) : wholeSeconds(ms);
}

function checked(queue: WireQueue, settings: Settings): Settings {
  const { rateLimits, retry, loggingRatio } = settings;
  const { maxDispatchesPerSecond: rate, maxConcurrentDispatches: concurrent } = rateLimits;
  if (queue.appEngineRoutingOverride)
    throw new CallRefusal('unimplemented', 'The emulator has no App Engine: it takes HTTP targets only.');
  if (!(rate > 0 && rate <= rateMax))
    throw invalid(`RateLimits.maxDispatchesPerSecond must be above 0 and at most ${rateMax}.`);
  if (concurrent < 1 || concurrent > concurrentMax)
    throw invalid(`RateLimits.maxConcurrentDispatches must be from 1 to ${concurrentMax}.`);
  if (retry.maxAttempts < -1) throw invalid('RetryConfig.maxAttempts must be -1 or more.');
  if (retry.maxDoublings < 0) throw invalid('RetryConfig.maxDoublings must be 0 or more.');
  if (retry.minBackoffMs > retry.maxBackoffMs)
    throw invalid('RetryConfig.minBackoff must not be above RetryConfig.maxBackoff.');
  if (loggingRatio !== null && !(loggingRatio >= 0 && loggingRatio <= 1))
    throw invalid('StackdriverLoggingConfig.samplingRatio must be from 0 to 1.');
  return settings;
}
