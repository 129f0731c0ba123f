import { expect, test } from 'vitest';
import { operations } from './generated/operations.ts';
import type { OperationEntry } from './operation.ts';

// Probes share their address with all callers behind a load balancer, and a refused probe ends the instance.
const uncounted = ['getHealth'];

const entries: readonly OperationEntry[] = Object.values(operations);

test('every operation is counted by a rate class, and says that it may be refused for it', () => {
  expect(entries.filter(({ rateClass }) => rateClass === null).map(({ id }) => id)).toEqual(uncounted);
  const silent = entries.filter(
    ({ rateClass, problems }) => (rateClass !== null) !== problems.includes('rate_limited'),
  );
  expect(silent.map(({ id }) => id)).toEqual([]);
});
