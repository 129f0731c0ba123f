import { expect, test } from 'vitest';
import type { Caller } from '../../../identity/caller.ts';
import { WaitingPlaces } from '../../../kernel/waiting-places.ts';
import { leaseOwners } from './wait-owners.ts';

const key: Caller = { kind: 'api-key', principal: null };
const workload = (principal: string): Caller => ({ kind: 'workload', principal });

/** How many of `count` calls wait. */
function waiting(places: WaitingPlaces, count: number, given: Parameters<typeof leaseOwners>[0]): number {
  let held = 0;
  for (let n = 0; n < count; n += 1) {
    const { owners, served } = leaseOwners(given);
    if (places.take(owners, served) !== null) held += 1;
  }
  return held;
}

test('without grants, the calls of one worker id leave places of the key to another', () => {
  const places = new WaitingPlaces(1_000);
  const crowd = { caller: key, workerId: 'crowd', tenants: null };
  expect(waiting(places, 1_000, crowd)).toBe(64);
  expect(waiting(places, 2, { ...crowd, workerId: 'other' })).toBe(2);
});

test('worker ids that a caller invents have the share of the caller together', () => {
  const places = new WaitingPlaces(1_000);
  let held = 0;
  for (let n = 0; n < 500; n += 1)
    held += waiting(places, 2, { caller: key, workerId: `worker-${n}`, tenants: null });
  expect(held).toBe(250);
});

test('a worker of many tenants waits as long as one of them has a place', () => {
  const places = new WaitingPlaces(1_000);
  const of = (...ids: string[]) => ids.map((tenantId) => ({ productId: 'p', tenantId }));
  const busy = { caller: workload('busy@p'), workerId: 'busy', tenants: of('busy') };
  expect(waiting(places, 1_000, busy)).toBe(64);
  expect(
    waiting(places, 10, { caller: workload('both@p'), workerId: 'both', tenants: of('busy', 'calm') }),
  ).toBe(10);
  expect(waiting(places, 100, { caller: workload('calm@p'), workerId: 'calm', tenants: of('calm') })).toBe(
    54,
  );
});

test('the identities of a whole product have the share of one principal together', () => {
  const places = new WaitingPlaces(1_000);
  const whole = [{ productId: 'p', tenantId: null }];
  let held = 0;
  for (let n = 0; n < 50; n += 1)
    held += waiting(places, 20, { caller: workload(`w${n}@p`), workerId: `w${n}`, tenants: whole });
  expect(held).toBe(250);
});
