import { array, assert, constantFrom, integer, nat, property, record } from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  EMPTY_SLOT,
  enterKey,
  type KeySlot,
  type KeyView,
  offerPlace,
  type PlaceHolder,
  placeState,
  withoutRun,
  withoutWaiting,
  withWaiting,
} from './start-key.ts';

const NOW = 1_000;

interface ModelRun {
  readonly id: string;
  status: 'queued' | 'running' | 'waiting' | 'ended';
  attempt: number;
  leaseExpiresAt: number | null;
  waits: boolean;
}

/** All runs of one key as lists: the plainest model of what workers, time and callers do to them. */
class Key {
  slot: KeySlot = EMPTY_SLOT;
  now = NOW;
  limit: number;
  readonly runs: ModelRun[] = [];
  /** The order in which runs got a place after a wait. */
  readonly offered: string[] = [];

  constructor(limit: number) {
    this.limit = limit;
  }

  view(): KeyView {
    const holderOf = (runId: string): PlaceHolder | undefined => this.runs.find(({ id }) => id === runId);
    return { slot: this.slot, holderOf, limit: this.limit, now: this.now };
  }

  start(): void {
    const id = `r${String(this.runs.length).padStart(3, '0')}`;
    this.runs.push({ id, status: 'queued', attempt: 0, leaseExpiresAt: null, waits: false });
  }

  get held(): ModelRun[] {
    return this.runs.filter(
      ({ status, leaseExpiresAt }) => status === 'running' && (leaseExpiresAt ?? 0) > this.now,
    );
  }

  settle(run: ModelRun): void {
    if (run.status !== 'running' || (run.leaseExpiresAt ?? 0) > this.now) return;
    Object.assign(run, { status: 'queued', leaseExpiresAt: null });
  }

  ask(run: ModelRun, ttl: number): void {
    if (run.status !== 'queued' || run.waits) return;
    const decision = enterKey(run, this.view());
    if (decision.kind === 'free') {
      this.slot = { ...this.slot, places: decision.places };
      Object.assign(run, { status: 'running', attempt: run.attempt + 1, leaseExpiresAt: this.now + ttl });
    } else if (decision.kind === 'lapsed') {
      for (const id of decision.runIds) this.settle(this.runs.find((each) => each.id === id) as ModelRun);
    } else {
      run.waits = true;
      this.slot = withWaiting(this.slot);
      if (decision.kind === 'behind') this.offer();
    }
  }

  offer(): void {
    while (this.slot.waits > 0) {
      const [oldest, second] = this.runs.filter(({ status, waits }) => status === 'queued' && waits);
      if (oldest === undefined) {
        this.slot = withoutWaiting(this.view()) ?? EMPTY_SLOT;
        return;
      }
      const seen = { isLast: second === undefined, seenWaits: this.slot.waits };
      const next = offerPlace(oldest, this.view(), seen);
      if (next === null) return;
      this.slot = next;
      oldest.waits = false;
      this.offered.push(oldest.id);
    }
  }

  end(run: ModelRun, status: 'waiting' | 'ended'): void {
    if (run.status !== 'running') return;
    Object.assign(run, { status, leaseExpiresAt: null });
    this.offer();
  }
}

const anyStep = record({
  act: constantFrom(
    ...([
      'start',
      'start',
      'ask',
      'ask',
      'ask',
      'end',
      'park',
      'resume',
      'cancel',
      'expire',
      'prune',
    ] as const),
  ),
  at: nat(20),
  ms: integer({ min: 1, max: 200 }),
});
type Step = typeof anyStep extends { generate(...given: never[]): { readonly value: infer S } } ? S : never;

function apply(key: Key, { act, at, ms }: Step): void {
  const run = key.runs[at % Math.max(1, key.runs.length)];
  if (act === 'start') key.start();
  if (run === undefined) return;
  if (act === 'ask') key.ask(run, ms);
  if (act === 'end') key.end(run, 'ended');
  if (act === 'park') key.end(run, 'waiting');
  if (act === 'resume' && run.status === 'waiting') run.status = 'queued';
  if (act === 'cancel' && run.status === 'queued') {
    Object.assign(run, { status: 'ended' });
    key.offer();
  }
  if (act === 'expire') {
    key.now += ms;
    for (const each of key.runs) key.settle(each);
    key.offer();
  }
  if (act === 'prune' && run.status === 'ended') key.slot = withoutRun(key.slot, run.id) ?? EMPTY_SLOT;
}

test('no more runs than the limit are held, and none waits while there is room', () => {
  assert(
    property(integer({ min: 1, max: 4 }), array(anyStep, { maxLength: 120 }), (limit, steps) => {
      const key = new Key(limit);
      for (const step of steps) {
        apply(key, step);
        expect(key.held.length).toBeLessThanOrEqual(limit);
        const waits = key.runs.filter(({ status, waits: each }) => status === 'queued' && each);
        const view = key.view();
        const taken = view.slot.places.filter(
          (place) => placeState(place, view.holderOf(place.runId), key.now) !== 'free',
        );
        if (waits.length > 0) expect([taken.length, key.slot.waits > 0]).toEqual([limit, true]);
      }
    }),
    { seed: 11, numRuns: 400 },
  );
});

test('runs get the free places in the order of their ages, and in the end all have run', () => {
  assert(
    property(integer({ min: 1, max: 3 }), integer({ min: 1, max: 15 }), (limit, many) => {
      const key = new Key(limit);
      for (let n = 0; n < many; n += 1) key.start();
      for (const run of key.runs) key.ask(run, 100);
      for (let turn = 0; turn < many; turn += 1) {
        const [held] = key.held;
        if (held !== undefined) key.end(held, 'ended');
        for (const run of key.runs) key.ask(run, 100);
      }
      expect(key.offered).toEqual([...key.offered].sort());
      expect(key.runs.every(({ status }) => status === 'ended')).toBe(true);
      expect(key.slot.waits).toBe(0);
    }),
    { seed: 12, numRuns: 200 },
  );
});

describe('a place', () => {
  const place = { runId: 'r', attempt: 2 };
  const holder = (status: string, attempt: number, leaseExpiresAt: number | null = null) =>
    placeState(place, { status, attempt, leaseExpiresAt }, NOW);

  it('is taken by its own lease, and by the run that it was offered to', () => {
    expect(holder('running', 2, NOW + 1)).toBe('taken');
    expect(holder('queued', 1)).toBe('taken');
  });

  it('has lapsed at the exact end of its lease', () => {
    expect(holder('running', 2, NOW)).toBe('lapsed');
    expect(holder('running', 2)).toBe('lapsed');
  });

  it('is free for another lease, after its own, and without its run', () => {
    expect(holder('running', 3, NOW + 1)).toBe('free');
    expect(holder('queued', 2)).toBe('free');
    expect(holder('succeeded', 2)).toBe('free');
    expect(holder('waiting', 2)).toBe('free');
    expect(placeState(place, undefined, NOW)).toBe('free');
  });
});

describe('a slot', () => {
  const view = (slot: KeySlot, holders: Readonly<Record<string, PlaceHolder>> = {}, limit = 1): KeyView => ({
    slot,
    limit,
    now: NOW,
    holderOf: (runId) => holders[runId],
  });
  const running: PlaceHolder = { status: 'running', attempt: 1, leaseExpiresAt: NOW + 1 };
  const places = [{ runId: 'a', attempt: 1 }];

  it('names the runs whose leases have run out', () => {
    const lapsed = view({ places, waits: 0 }, { a: { ...running, leaseExpiresAt: NOW } });
    expect(enterKey({ id: 'b', attempt: 0 }, lapsed)).toEqual({ kind: 'lapsed', runIds: ['a'] });
    expect(offerPlace({ id: 'b', attempt: 0 }, lapsed, { isLast: true, seenWaits: 0 })).toBeNull();
  });

  it('keeps a place that has lapsed beside a new one', () => {
    const lapsed = view({ places, waits: 3 }, { a: { ...running, leaseExpiresAt: NOW } }, 2);
    const next = offerPlace({ id: 'b', attempt: 4 }, lapsed, { isLast: false, seenWaits: 3 });
    expect(next).toEqual({ places: [...places, { runId: 'b', attempt: 5 }], waits: 3 });
  });

  it('forgets that runs wait only where none has come since', () => {
    const free = view({ places: [], waits: 3 });
    const run = { id: 'b', attempt: 0 };
    expect(offerPlace(run, free, { isLast: true, seenWaits: 3 })?.waits).toBe(0);
    expect(offerPlace(run, free, { isLast: true, seenWaits: 2 })?.waits).toBe(3);
    expect(offerPlace(run, free, { isLast: false, seenWaits: 3 })?.waits).toBe(3);
  });

  it('is nothing once no run has a place or waits', () => {
    expect(withoutRun({ places, waits: 0 }, 'a')).toBeNull();
    expect(withoutRun({ places, waits: 1 }, 'a')).toEqual({ places: [], waits: 1 });
    expect(withoutRun({ places, waits: 0 }, 'b')).toEqual({ places, waits: 0 });
    expect(withoutWaiting(view({ places, waits: 1 }))).toBeNull();
    expect(withoutWaiting(view({ places, waits: 1 }, { a: running }))).toEqual({ places, waits: 0 });
  });
});
