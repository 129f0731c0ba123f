import { randomBytes } from 'node:crypto';
import { TurnRoom } from '../kernel/turn-room.ts';
import type { Clock, RandomSource, World } from '../kernel/world.ts';

const RANDOM_POOL_BYTES = 4096;

/** Clock, randomness, timers and network of this machine. Beside the providers, nothing else may use them directly. */
const clock: Clock = { now: () => Date.now() };

export const machine: World = {
  clock,
  random: pooledRandom(),
  timers: {
    after(delayMs, callback) {
      const timer = setTimeout(callback, delayMs);
      return () => clearTimeout(timer);
    },
  },
  http: (input, init) => fetch(input, init),
  turns: new TurnRoom(clock),
};

/** Reads random bytes in large amounts: a system call for 16 bytes costs as much as one for thousands. */
function pooledRandom(): RandomSource {
  let pool = randomBytes(RANDOM_POOL_BYTES);
  let used = 0;
  return {
    bytes(size) {
      if (size > RANDOM_POOL_BYTES) return randomBytes(size);
      if (used + size > RANDOM_POOL_BYTES) {
        pool = randomBytes(RANDOM_POOL_BYTES);
        used = 0;
      }
      used += size;
      // A copy: a caller that keeps a view would keep the whole pool in memory.
      return Uint8Array.prototype.slice.call(pool, used - size, used);
    },
  };
}
