import { describe, expect, test } from 'vitest';
import { isLinearizable, type Observed } from './linearizability.ts';
import {
  type DocumentOp,
  documentModel,
  type EventOp,
  eventModel,
  type FenceChange,
  type FenceOp,
  fenceModel,
} from './object-models.ts';
import { Random } from './random.ts';

const any = (_revision: number) => true;

function write(key: string, answer: number | 'refused' | 'unknown', condition = any): DocumentOp {
  return { kind: 'write', key, deletes: false, condition, answer, replayed: false };
}

const read = (revision: number): DocumentOp => ({ kind: 'read', revision, deleted: false });

function at<Op>(operation: Op, called: number, returned: number | null): Observed<Op> {
  return { operation, called, returned };
}

describe('documents', () => {
  test('operations that overlap may have happened in either order', () => {
    const history = [at(write('a', 2), 1, 6), at(write('b', 1), 2, 5), at(read(1), 3, 4), at(read(2), 7, 8)];
    expect(isLinearizable(documentModel, history)).toBe(true);
  });

  test('a read that returns an older revision after a newer one was answered is found', () => {
    const history = [at(write('a', 1), 1, 2), at(write('b', 2), 3, 4), at(read(1), 5, 6)];
    expect(isLinearizable(documentModel, history)).toBe(false);
  });

  test('two writers cannot both write one revision', () => {
    const history = [at(write('a', 1), 1, 4), at(write('b', 1), 2, 3)];
    expect(isLinearizable(documentModel, history)).toBe(false);
  });

  test('an operation without an answer may have happened late, or never', () => {
    const lost = at(write('a', 'unknown'), 1, null);
    expect(isLinearizable(documentModel, [lost, at(write('b', 1), 2, 3), at(read(1), 4, 5)])).toBe(true);
    expect(isLinearizable(documentModel, [lost, at(write('b', 1), 2, 3), at(read(2), 4, 5)])).toBe(true);
    expect(isLinearizable(documentModel, [lost, at(write('b', 1), 2, 3), at(read(3), 4, 5)])).toBe(false);
  });

  test('a replay answers the first result, also after writes of others', () => {
    const replayed: DocumentOp = {
      kind: 'write',
      key: 'a',
      deletes: false,
      condition: any,
      answer: 1,
      replayed: true,
    };
    const history = [at(write('a', 1), 1, 2), at(write('b', 2), 3, 4), at(replayed, 5, 6)];
    expect(isLinearizable(documentModel, history)).toBe(true);
    expect(isLinearizable(documentModel, [at(write('b', 1), 1, 2), at(replayed, 3, 4)])).toBe(false);
  });

  test('a refusal must have been right at some time between call and answer', () => {
    const refused = write('b', 'refused', (revision) => revision === 0);
    expect(isLinearizable(documentModel, [at(write('a', 1), 1, 4), at(refused, 2, 3)])).toBe(true);
    expect(isLinearizable(documentModel, [at(refused, 1, 2), at(write('a', 1), 3, 4)])).toBe(false);
  });
});

test('a fence has one owner at a time', () => {
  const claim = (key: string, owner: string, answer: FenceChange['answer']): FenceOp => {
    return { key, operation: 'claim', owner, answer };
  };
  const release: FenceOp = { key: 'r', operation: 'release', owner: 'x', answer: 'done' };
  const taken = at(claim('1', 'x', 'done'), 1, 2);
  expect(isLinearizable(fenceModel, [taken, at(claim('2', 'y', 'done'), 3, 4)])).toBe(false);
  expect(isLinearizable(fenceModel, [taken, at(claim('2', 'y', 'refused'), 3, 4)])).toBe(true);
  expect(isLinearizable(fenceModel, [taken, at(claim('2', 'y', 'done'), 3, 6), at(release, 4, 5)])).toBe(
    true,
  );
});

test('an event has one token at a time, and every lease counts', () => {
  const lease = (token: string, count: number | 'unknown'): EventOp => ({ kind: 'lease', token, count });
  const ack = (token: string, answer: 'done' | 'lease_stale'): EventOp => ({ kind: 'ack', token, answer });
  const both = [at(lease('x', 1), 1, 2), at(lease('y', 2), 3, 4)];
  expect(isLinearizable(eventModel, [...both, at(ack('x', 'done'), 5, 6)])).toBe(false);
  expect(isLinearizable(eventModel, [...both, at(ack('x', 'lease_stale'), 5, 6)])).toBe(true);
  expect(isLinearizable(eventModel, [at(lease('x', 1), 1, 2), at(lease('y', 1), 3, 4)])).toBe(false);
  const lost = at(lease('lost', 'unknown'), 1, null);
  expect(isLinearizable(eventModel, [lost, at(lease('y', 2), 3, 4), at(ack('y', 'done'), 5, 6)])).toBe(true);
});

/** Clients of a correct document; with `stale`, one read in a hundred is answered from a while ago. */
function simulated(
  seed: number,
  operations: number,
  stale: boolean,
): { list: Observed<DocumentOp>[]; planted: number } {
  const random = new Random(seed);
  const free = Array.from({ length: 6 }, () => 0);
  const plans = Array.from({ length: operations }, (_, n) => {
    const client = random.below(free.length);
    const called = Math.max(free[client] ?? 0, n * 3) + random.below(5);
    const effective = called + 1 + random.below(20);
    const returned = effective + 1 + random.below(20);
    free[client] = returned;
    return { called, effective, returned, writes: random.chance(0.5), n };
  });
  plans.sort((left, right) => left.effective - right.effective || left.n - right.n);
  let revision = 0;
  let planted = 0;
  const revisions: number[] = [];
  const list = plans.map(({ called, returned, writes, n }): Observed<DocumentOp> => {
    revisions.push(revision);
    if (writes) {
      const expected = revision - random.below(2);
      const met = expected === revision;
      if (met) revision++;
      const answer = random.chance(0.03) ? 'unknown' : met ? revision : 'refused';
      const op = write(`k${n}`, answer, (current) => current === expected);
      return at(op, called, answer === 'unknown' ? null : returned);
    }
    const old = revisions.at(-40);
    const lags = stale && random.chance(0.01) && old !== undefined;
    if (lags) planted++;
    const seen = lags ? old : revision;
    return at(seen === 0 ? { kind: 'read none', includeDeleted: true } : read(seen), called, returned);
  });
  return { list, planted };
}

test('long histories of a correct document pass, and nearly every one with a stale read is found', () => {
  let [found, planted] = [0, 0];
  for (let seed = 1; seed <= 40; seed++) {
    expect(isLinearizable(documentModel, simulated(seed, 200, false).list)).toBe(true);
    const broken = simulated(seed, 200, true);
    if (broken.planted === 0) continue;
    planted++;
    if (!isLinearizable(documentModel, broken.list)) found++;
  }
  expect(planted).toBeGreaterThan(10);
  expect(found).toBe(planted);
});
