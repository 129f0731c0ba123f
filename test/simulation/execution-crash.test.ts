import { describe, expect, test } from 'vitest';
import {
  crashExecutionAt,
  EXECUTION_AFTERMATHS,
  EXECUTION_PROTOCOLS,
  type ExecutionAftermath,
  type ExecutionProtocol,
} from './execution-enumerate.ts';

/** More awaits than any operation of the enumeration has. */
const AWAITS_MAX = 120;
const PATIENCE_MS = 120_000;

describe('a crash of the execution runtime at every await', () => {
  for (const protocol of EXECUTION_PROTOCOLS) {
    test.each(EXECUTION_AFTERMATHS)(
      `of ${protocol}, then %s`,
      async (aftermath) => {
        // Alone, an operation has one course; beside a rival it has many.
        const seeds = aftermath === 'rival' ? 3 : 1;
        let points = 0;
        for (let seed = 1; seed <= seeds; seed++)
          points = Math.max(points, await crashEverywhere(protocol, aftermath, seed));
        // Arrival, then a read and a write, each before and after.
        expect(points).toBeGreaterThanOrEqual(5);
      },
      PATIENCE_MS,
    );
  }
});

/** The number of awaits at which the instance was made to crash: all that it has until the answer. */
async function crashEverywhere(
  protocol: ExecutionProtocol,
  aftermath: ExecutionAftermath,
  seed: number,
): Promise<number> {
  for (let point = 1; point < AWAITS_MAX; point++) {
    const { crashed, violation } = await crashExecutionAt(protocol, point, aftermath, { seed });
    expect(violation?.message, `crash point ${point}, seed ${seed}`).toBeUndefined();
    if (!crashed) return point - 1;
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
