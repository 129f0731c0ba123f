import type { OperationEntry } from '../../contracts/operation.ts';
import { createBusyLine } from './busy-line.ts';
import type { ChainOptions } from './options.ts';
import { createRateLimiter, type HeaderField, type RateLimiter } from './rate-limit.ts';
import { createRefusalDelays, refusalDelayDefaults } from './refusal-delay.ts';

/** The rate limits of all operations: one limiter for each rate class, under the name of the class. */
export interface RateLimits {
  /** The class of a request. A path that no operation has takes the class of its first segment. */
  classOf(entry: OperationEntry | null, path: string): string | null;
  /** Takes a permit of the class. Reports the header fields whether or not there was one. */
  acquire(
    rateClass: string | null,
    address: () => string,
    signal: AbortSignal,
    report: (fields: readonly HeaderField[]) => void,
  ): Promise<void>;
  /** Takes further permits for an admitted request, where the class weighs requests. */
  charge(rateClass: string | null, address: () => string, permits: number): void;
}

type Options = Pick<
  ChainOptions,
  'operations' | 'rateLimit' | 'rateLimits' | 'rateClasses' | 'refusalDelayMs' | 'world'
>;

export function createRateLimits(options: Options): RateLimits {
  const { operations, rateLimit, rateLimits = {}, refusalDelayMs = 0, world } = options;
  const delays = createRefusalDelays({ ...refusalDelayDefaults, delayMs: refusalDelayMs }, world.timers);
  const line = createBusyLine(world.clock);
  const limiters = new Map<string, RateLimiter>();
  const weighed = new Set<string>();
  const byFirstSegment = new Map<string, string>();
  const limit = (rateClass: string): void => {
    const settings = rateLimits[rateClass] ?? rateLimit;
    if (limiters.has(rateClass) || settings === null) return;
    if (settings.isWeighed === true) weighed.add(rateClass);
    limiters.set(rateClass, createRateLimiter(rateClass, settings, { ...world, delays, line }));
  };
  for (const rateClass of options.rateClasses ?? []) limit(rateClass);
  for (const entry of rateLimit === null ? [] : Object.values(operations)) {
    const { rateClass } = entry;
    if (rateClass === null) continue;
    limit(rateClass);
    for (const { segments } of entry.routes) {
      const [first] = segments;
      if (first && 'literal' in first && !byFirstSegment.has(first.literal))
        byFirstSegment.set(first.literal, rateClass);
    }
  }
  return {
    classOf(entry, path) {
      return entry ? entry.rateClass : (byFirstSegment.get(path.split('/', 2)[1] ?? '') ?? null);
    },
    async acquire(rateClass, address, signal, report) {
      const limiter = rateClass === null ? undefined : limiters.get(rateClass);
      await limiter?.acquire(address(), signal, report);
    },
    charge(rateClass, address, permits) {
      if (rateClass !== null && weighed.has(rateClass)) limiters.get(rateClass)?.charge(address(), permits);
    },
  };
}
