import type { Clock } from '../kernel/world.ts';

/** How many bytes may pass at once, and how many a second from then on. */
export interface AllowancePolicy {
  readonly burstBytes: number;
  readonly bytesPerSecond: number;
}

/** A token bucket that counts bytes of all connections together. */
export interface ByteAllowance {
  /** Counts bytes before they pass; returns the milliseconds to wait until they may, 0 for none. */
  take(bytes: number): number;
  /** Subtracts bytes that were counted and did not pass. */
  giveBack(bytes: number): void;
}

export function createByteAllowance(
  { burstBytes, bytesPerSecond }: AllowancePolicy,
  clock: Clock,
): ByteAllowance {
  let free = burstBytes;
  let at = clock.now();
  return {
    take(bytes) {
      const now = clock.now();
      // A clock that was set back adds nothing.
      const added = (Math.max(0, now - at) / 1000) * bytesPerSecond;
      at = now;
      free = Math.min(burstBytes, free + added) - bytes;
      return free >= 0 ? 0 : Math.ceil((-free / bytesPerSecond) * 1000);
    },
    giveBack(bytes) {
      free = Math.min(burstBytes, free + bytes);
    },
  };
}
