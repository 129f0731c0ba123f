import { describe, expect, test } from 'vitest';
import { patienceMs, share } from '../support/effort.ts';
import {
  crashExecutionAt,
  EXECUTION_AFTERMATHS,
  EXECUTION_PROTOCOLS,
  type ExecutionAftermath,
  type ExecutionProtocol,
} from './execution-enumerate.ts';

/** More awaits than any operation of the enumeration has. */
const AWAITS_MAX = 120;

/** All awaits at night. Else every second: what one aftermath of an operation leaves out, the next one has. */
const STRIDE = share(2, 1);

describe('a crash of the execution runtime at every await', () => {
  for (const [at, protocol] of EXECUTION_PROTOCOLS.entries()) {
    test.each(EXECUTION_AFTERMATHS)(
      `of ${protocol}, then %s`,
      async (aftermath) => {
        // Alone, an operation has one course; beside a rival it has many.
        const seeds = aftermath === 'rival' ? share(1, 15) : 1;
        const first = 1 + ((at + EXECUTION_AFTERMATHS.indexOf(aftermath)) % STRIDE);
        let points = 0;
        for (let seed = 1; seed <= seeds; seed++)
          points = Math.max(points, await crashFrom(first, protocol, aftermath, seed));
        // Arrival, then a read and a write, each before and after.
        expect(points).toBeGreaterThan(5 - STRIDE);
      },
      patienceMs,
    );
  }
});

/** The last await at which the instance was made to crash: it has no more until the answer. */
async function crashFrom(
  first: number,
  protocol: ExecutionProtocol,
  aftermath: ExecutionAftermath,
  seed: number,
): Promise<number> {
  for (let point = first; point < AWAITS_MAX; point += STRIDE) {
    const { crashed, violation } = await crashExecutionAt(protocol, point, aftermath, { seed });
    expect(violation?.message, `crash point ${point}, seed ${seed}`).toBeUndefined();
    if (!crashed) return point - STRIDE;
  }
  throw new Error(`${protocol} has more awaits than ${AWAITS_MAX}`);
}

test('a bug that only a crash brings to light is found', async () => {
  const found = await Promise.all(
    [1, 2, 3, 4, 5, 6, 7, 8].map((point) =>
      crashExecutionAt('take back', point, 'nobody', { flaw: 'never-due' }),
    ),
  );
  expect(found.every(({ violation }) => violation?.message.startsWith('progress'))).toBe(true);
});
