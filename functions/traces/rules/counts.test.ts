import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type CountedValues,
  NO_COUNTS,
  OTHER_VALUES,
  sumOf,
  VALUES_MAX,
  valuesOf,
  withoutTrace,
  withTrace,
} from './counts.ts';

const trace = (status: string) => ({ status, provider: 'p' });

describe('the values of a trace', () => {
  test('come from its summary before its request, are texts, and have at most 128 characters', () => {
    const request = { provider: 'p', capability: 7, status: 'from the request' };
    const resultSummary = { status: 's'.repeat(200), failureClass: null, providerStatus: '' };
    expect(valuesOf({ adapter: 'a', request, resultSummary })).toEqual({
      adapter: 'a',
      provider: 'p',
      status: 's'.repeat(128),
    });
  });
});

describe('counts', () => {
  test('have a bounded number of values, and the rest under one name', () => {
    let counts = NO_COUNTS;
    for (let at = 0; at < VALUES_MAX + 10; at += 1) ({ counts } = withTrace(counts, trace(`s${at}`)));
    expect(counts.values.status.size).toBe(VALUES_MAX + 1);
    expect(counts.values.status.get(OTHER_VALUES)).toBe(10);
    expect(counts.values.provider.get('p')).toBe(VALUES_MAX + 10);
  });

  test('are empty again when every trace is counted out as it was counted in', () => {
    const status = fc.integer({ min: 0, max: 100 }).map((at) => `s${at}`);
    fc.assert(
      fc.property(fc.array(status, { maxLength: 200 }), (statuses) => {
        let counts = NO_COUNTS;
        const all: CountedValues[] = [];
        for (const each of statuses) {
          const { counts: after, counted } = withTrace(counts, trace(each));
          counts = after;
          all.push(counted);
        }
        expect(all.reduce(withoutTrace, counts)).toEqual(NO_COUNTS);
      }),
    );
  });

  test('of shards are added up, and stay bounded', () => {
    const shard = (prefix: string) => {
      let counts = NO_COUNTS;
      for (let at = 0; at < 50; at += 1) ({ counts } = withTrace(counts, trace(`${prefix}${at}`)));
      return withTrace(counts, trace('common')).counts;
    };
    const { total, values } = sumOf([shard('a'), shard('b')]);
    expect(total).toBe(102);
    expect([...values.status][0]).toEqual(['common', 2]);
    expect(values.status.size).toBe(VALUES_MAX + 1);
    expect([...values.status.values()].reduce((sum, count) => sum + count, 0)).toBe(102);
  });
});
