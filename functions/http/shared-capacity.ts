import { type BytesInFlight, createBytesInFlight } from './bytes-in-flight.ts';
import { createLargeAnswers, type LargeAnswers } from './large-answers.ts';
import type { ChainOptions } from './options.ts';
import { createRateLimits, type RateLimits } from './rate-limits.ts';
import { RequestLine } from './request-line.ts';

/** Shared by all requests of a process, also those that no operation serves. */
export interface SharedCapacity {
  readonly limits: RateLimits;
  readonly bytes: BytesInFlight;
  readonly large: LargeAnswers;
  readonly line: RequestLine;
}

export function createSharedCapacity(options: ChainOptions): SharedCapacity {
  return {
    limits: createRateLimits(options),
    bytes: createBytesInFlight(options.bytesInFlight ?? { perProcess: Infinity, perCaller: Infinity }),
    large: createLargeAnswers(),
    line: new RequestLine(options.world, options.log, options.overload?.atWorkMax ?? Infinity),
  };
}
