import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../../../test/support/refusal.ts';
import { sha256 } from '../../../kernel/canonical-json.ts';
import { formatUtc } from '../../../kernel/timestamp.ts';
import type { EventState } from './outbox-event.ts';
import {
  ackIfLeased,
  leaseIfDue,
  releaseIfLeased,
  renewIfLeased,
  replayIfDeadLettered,
  settle,
  stateAt,
} from './outbox-rules.ts';

/** One rule at a time, at the exact time at which its decision changes. */

const NOW = Date.parse('2026-01-02T03:04:05.000Z');
const at = (milliseconds: number) => formatUtc(NOW + milliseconds);
const grant = { consumerId: 'me', tokenHash: sha256('token'), expiresAtUtc: at(60_000) };

const open: EventState = {
  id: 'e',
  transactionId: 'ctx',
  topic: 't',
  key: 'k',
  state: 'open',
  createdAtUtc: at(-1000),
  notBeforeUtc: null,
  maxDeliveryAttempts: null,
  deliveryCount: 0,
  leaseOwner: null,
  leaseExpiresAtUtc: null,
  leaseTokenHash: null,
  deliveredAtUtc: null,
  deadLetteredAtUtc: null,
  lastError: null,
};
const leased: EventState = {
  ...open,
  state: 'leased',
  deliveryCount: 1,
  leaseOwner: 'me',
  leaseExpiresAtUtc: at(1),
  leaseTokenHash: sha256('token'),
};
const last: EventState = { ...leased, maxDeliveryAttempts: 1 };
const dead: EventState = { ...open, state: 'dead-letter', deliveryCount: 2, deadLetteredAtUtc: at(-1) };
const delivered: EventState = {
  ...open,
  state: 'delivered',
  leaseTokenHash: sha256('token'),
  deliveredAtUtc: at(-1),
};

describe('a lease', () => {
  test('lasts up to, not including, the moment of its expiry', () => {
    expect(stateAt(leased, at(0))).toBe('leased');
    expect(stateAt(leased, at(1))).toBe('ready');
    expect(renewIfLeased(leased, 'token', at(9), at(0)).leaseExpiresAtUtc).toBe(at(9));
    expect(refusalOf(() => renewIfLeased(leased, 'token', at(9), at(1)))).toEqual({
      code: 'lease_not_active',
      message: expect.stringContaining('no longer active'),
      state: 'ready',
    });
  });

  test.each([
    [{ ...open, notBeforeUtc: at(1) }, 'scheduled'],
    [{ ...open, notBeforeUtc: at(0) }, 'ready'],
    [{ ...leased, leaseExpiresAtUtc: at(0), notBeforeUtc: at(1) }, 'scheduled'],
    [{ ...delivered, notBeforeUtc: at(1) }, 'delivered'],
    [{ ...dead, notBeforeUtc: at(1) }, 'dead-letter'],
  ])('%#: the state shows', (event, state) => {
    expect(stateAt(event, at(0))).toBe(state);
    expect(leaseIfDue(event, grant, at(0)) === null).toBe(state !== 'ready');
  });

  test('goes to one consumer and is counted', () => {
    expect(leaseIfDue(open, grant, at(0))).toEqual({
      ...open,
      state: 'leased',
      deliveryCount: 1,
      leaseOwner: 'me',
      leaseExpiresAtUtc: grant.expiresAtUtc,
      leaseTokenHash: grant.tokenHash,
    });
    expect(leaseIfDue(leased, grant, at(0))).toBeNull();
    expect(leaseIfDue(leased, grant, at(1))).toMatchObject({ deliveryCount: 2 });
  });

  test('that was the last one parks the event when it runs out, under the moment at which it did', () => {
    const parked = {
      ...last,
      state: 'dead-letter',
      leaseOwner: null,
      leaseExpiresAtUtc: null,
      deadLetteredAtUtc: at(1),
    };
    expect(settle(last, at(0))).toBe(last);
    expect(settle(last, at(1))).toEqual(parked);
    expect(settle({ ...last, maxDeliveryAttempts: 2 }, at(1))).toMatchObject({ state: 'leased' });
    expect(leaseIfDue(last, grant, at(1))).toEqual(parked);
    // A dead letter that was written down is not written again.
    expect(leaseIfDue(dead, grant, at(1))).toBeNull();
  });
});

describe('a token', () => {
  const calls: Readonly<Record<string, (event: EventState | undefined, token: string) => EventState>> = {
    renew: (event, token) => renewIfLeased(event, token, at(9), at(0)),
    acknowledge: (event, token) => ackIfLeased(event, token, at(0)),
    release: (event, token) =>
      releaseIfLeased(event, token, { notBeforeUtc: null, retryAfterMs: null, error: null }, NOW),
  };
  test.each(Object.entries(calls))('%s needs the one that holds the event', (_, call) => {
    expect(() => call(leased, 'token')).not.toThrow();
    for (const token of ['toke', 'token ', 'other', '', sha256('token')]) {
      expect(refusalOf(() => call(leased, token))).toEqual({
        code: 'lease_stale',
        message: expect.stringContaining('not the one that holds'),
      });
    }
    expect(refusalOf(() => call(open, 'token')).code).toBe('lease_stale');
    // A hash of another make cannot be compared, and holds nothing.
    expect(refusalOf(() => call({ ...leased, leaseTokenHash: 'sha256:0' }, 'token')).code).toBe(
      'lease_stale',
    );
    expect(refusalOf(() => call(undefined, 'token'))).toEqual({
      code: 'not_found',
      message: expect.stringContaining('no such outbox event'),
    });
  });

  test('of an expired lease is refused with the state of the event', () => {
    expect(
      refusalOf(() => calls['acknowledge']?.({ ...last, leaseExpiresAtUtc: at(0) }, 'token')),
    ).toMatchObject({
      code: 'lease_not_active',
      state: 'dead-letter',
    });
    expect(refusalOf(() => calls['renew']?.(delivered, 'token'))).toMatchObject({
      code: 'lease_not_active',
      state: 'delivered',
    });
  });

  test('that acknowledged may do so again, and the first time stands', () => {
    const done = ackIfLeased(leased, 'token', at(0));
    expect(done).toMatchObject({ state: 'delivered', deliveredAtUtc: at(0), leaseOwner: null });
    expect(ackIfLeased(done, 'token', at(5000))).toBe(done);
  });
});

describe('a release', () => {
  const plain = { notBeforeUtc: null, retryAfterMs: null, error: 'failed' };
  const released = { leaseOwner: null, leaseExpiresAtUtc: null, leaseTokenHash: null, lastError: 'failed' };

  test.each([
    [plain, at(5000)],
    [{ ...plain, retryAfterMs: 0 }, at(0)],
    [{ ...plain, retryAfterMs: 7 }, at(7)],
    [{ ...plain, notBeforeUtc: at(30) }, at(30)],
  ])('%o makes it due again', (release, notBeforeUtc) => {
    expect(releaseIfLeased(leased, 'token', release, NOW)).toEqual({
      ...leased,
      ...released,
      state: 'open',
      notBeforeUtc,
    });
  });

  test('of the last delivery parks it', () => {
    expect(releaseIfLeased({ ...last, notBeforeUtc: at(-5) }, 'token', plain, NOW)).toEqual({
      ...last,
      ...released,
      state: 'dead-letter',
      notBeforeUtc: null,
      deadLetteredAtUtc: at(0),
    });
  });
});

describe('a replay', () => {
  test('makes a dead letter deliverable at once', () => {
    const parked = { ...dead, lastError: 'failed', leaseTokenHash: sha256('token') };
    const replayed = {
      ...parked,
      state: 'open',
      notBeforeUtc: at(0),
      deadLetteredAtUtc: null,
      lastError: null,
      leaseTokenHash: null,
    };
    expect(replayIfDeadLettered(parked, false, at(0))).toEqual(replayed);
    expect(replayIfDeadLettered(parked, true, at(0))).toEqual({ ...replayed, deliveryCount: 0 });
    expect(replayIfDeadLettered(last, false, at(1))).toMatchObject({ state: 'open', leaseOwner: null });
  });

  test.each([
    [open, 'ready'],
    [leased, 'leased'],
    [delivered, 'delivered'],
  ])('of what is no dead letter says what it is (%#)', (event, state) => {
    expect(refusalOf(() => replayIfDeadLettered(event, false, at(0)))).toEqual({
      code: 'outbox_event_not_dead_lettered',
      message: expect.stringContaining('Only a dead-lettered event'),
      state,
    });
  });

  test('of nothing is not found', () => {
    expect(refusalOf(() => replayIfDeadLettered(undefined, false, at(0))).code).toBe('not_found');
  });
});
