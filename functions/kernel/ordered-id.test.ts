import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nodeOf, OrderedIds, orderedIdBefore } from './ordered-id.ts';

const EPOCH_MS = 1_666_777_777_000;
const LAST_MS = EPOCH_MS + Math.floor((2 ** 50 - 1) / 1000);
const newYear = Date.UTC(2026, 0, 1);
const clockAt = (ms: number) => ({ now: () => ms });
const moments = fc.integer({ min: EPOCH_MS, max: LAST_MS - 1 });
/** Early enough that a clock which goes on by large steps does not come to the end. */
const early = fc.integer({ min: EPOCH_MS, max: LAST_MS - 1e12 });
const nodes = fc.nat({ max: 510 });

/** The layout as it is specified, in whole numbers of any size. */
function layout(micros: bigint, node: number, counter: number): string {
  const value = ((micros - 1_666_777_777_000_000n) << 13n) | (BigInt(node) << 4n) | BigInt(counter);
  return String(value).padStart(20, '0');
}

/** The parts of an id by the same layout. */
function partsOf(id: string) {
  const value = BigInt(id);
  return {
    timestampMs: Number((value >> 13n) / 1000n) + EPOCH_MS,
    node: Number((value >> 4n) & 511n),
    sequence: Number(value & 15n),
  };
}

function* drawn(ids: OrderedIds, count: number): Generator<string> {
  for (let at = 0; at < count; at++) yield ids.next();
}

describe('the layout', () => {
  test('holds the known values', () => {
    const ids = new OrderedIds({ clock: clockAt(newYear), node: 7 });
    expect([...drawn(ids, 4)].at(-1)).toBe('00822868566016000115');
    expect(orderedIdBefore(newYear)).toBe('00822868566016000000');
    expect(partsOf('00822868566016000115')).toEqual({ timestampMs: newYear, node: 7, sequence: 3 });
  });

  test('is that of 63 bits, at any moment, node and place in its millisecond', () => {
    fc.assert(
      fc.property(moments, nodes, fc.nat({ max: 65_535 }), fc.nat({ max: 40 }), (ms, node, drawn16, more) => {
        const random = { bytes: () => Uint8Array.of(drawn16 >> 8, drawn16 & 255) };
        const ids = new OrderedIds({ clock: clockAt(ms), node, random });
        const micros = BigInt(ms) * 1000n + BigInt(drawn16 % 1000);
        if (ms === EPOCH_MS) return;
        for (let at = 0; at <= more; at++) {
          expect(ids.next()).toBe(layout(micros + BigInt(at >> 4), node, at & 15));
        }
      }),
      { numRuns: 500 },
    );
  });

  test('does not go beyond its last microsecond', () => {
    const ids = new OrderedIds({ clock: clockAt(newYear), node: 510 });
    const last = layout(1_666_777_777_000_000n + 2n ** 50n - 2n, 510, 15);
    const [first, ...others] = [ids.next(last), ...drawn(ids, 15)];
    expect(first).toBe(layout(1_666_777_777_000_000n + 2n ** 50n - 1n, 510, 0));
    expect(others.at(-1)).toBe('09223372036854775791');
    expect(() => ids.next()).toThrow(RangeError);
  });
});

describe('the order', () => {
  const steps = fc.oneof(
    fc.constant(0),
    fc.integer({ min: -5, max: 5 }),
    fc.integer({ min: -1e9, max: 1e9 }),
  );

  test('is that of drawing, whether the clock goes on, stands or goes back', () => {
    fc.assert(
      fc.property(
        early,
        nodes,
        fc.array(steps, { maxLength: 200 }),
        fc.boolean(),
        (start, node, by, spread) => {
          let now = start;
          let draws = 0;
          const random = { bytes: () => Uint8Array.of((draws += 37) & 255, draws & 255) };
          const ids = new OrderedIds({ clock: { now: () => now }, node, ...(spread ? { random } : {}) });
          let last = '';
          for (const step of by) {
            const id = ids.next();
            expect(id > last).toBe(true);
            expect(id).toMatch(/^[0-9]{20}$/);
            expect(partsOf(id).node).toBe(node);
            last = id;
            now += step;
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  test('a clock that goes on is followed again', () => {
    let now = newYear;
    const ids = new OrderedIds({ clock: { now: () => now }, node: 1 });
    ids.next();
    now -= 3_600_000;
    expect(partsOf(ids.next()).timestampMs).toBe(newYear);
    now = newYear + 1;
    expect(partsOf(ids.next())).toEqual({ timestampMs: newYear + 1, node: 1, sequence: 0 });
  });

  test('runs ahead of a clock that stands rather than repeat or wait', () => {
    let now = newYear;
    const ids = new OrderedIds({ clock: { now: () => now }, node: 3 });
    const all = [...drawn(ids, 40_000)];
    expect(new Set(all).size).toBe(40_000);
    expect(all.toSorted()).toEqual(all);
    expect(partsOf(all.at(-1) ?? '').timestampMs).toBe(newYear + 2);
    now += 1;
    expect(ids.next() > (all.at(-1) ?? '')).toBe(true);
  });

  test('before the epoch ids are positive all the same', () => {
    const ids = new OrderedIds({ clock: clockAt(0), node: 0 });
    const [first, second] = drawn(ids, 2);
    expect(first).toBe('00000000000000008192');
    expect(second).toBe('00000000000000008193');
  });

  test('one sequence that several instances write, with clocks of their own, goes on upwards', () => {
    const instance = fc.record({ offset: fc.integer({ min: -1e6, max: 1e6 }), node: nodes });
    const draws = fc.array(fc.tuple(fc.nat({ max: 2 }), fc.nat({ max: 2 })), { maxLength: 150 });
    const instances = fc.tuple(instance, instance, instance);
    fc.assert(
      fc.property(instances, draws, fc.boolean(), (given, turns, sameNode) => {
        let now = newYear;
        const generators = given.map(
          ({ offset, node }) =>
            new OrderedIds({ clock: { now: () => now + offset }, node: sameNode ? 5 : node }),
        );
        const own = ['', '', ''];
        let after = '00000000000000000001';
        for (const [at, step] of turns) {
          const id = generators[at]?.next(after) ?? '';
          expect(id > after).toBe(true);
          expect(id > (own[at] ?? '')).toBe(true);
          own[at] = id;
          after = id;
          now += step;
        }
      }),
      { numRuns: 300 },
    );
  });

  test('all later ids exceed a passed id, while the clock catches up', () => {
    let now = newYear;
    const ids = new OrderedIds({ clock: { now: () => now }, node: 7 });
    let last = layout(BigInt(newYear + 5) * 1000n, 511, 15);
    for (const id of [ids.next(last), ...Array.from({ length: 20 }, () => (now++, ids.next()))]) {
      expect(id > last).toBe(true);
      last = id;
    }
    expect(partsOf(last).timestampMs).toBe(now);
  });

  test('an id that another instance made at the same moment under the same node is passed', () => {
    const [one, other] = [0, 1].map(() => new OrderedIds({ clock: clockAt(newYear), node: 7 }));
    const first = one?.next() ?? '';
    expect((other?.next(first) ?? '') > first).toBe(true);
  });

  test.each(['', 'x', '1', '0082286856601600011', '00822868566016000115 ', '09223372036854775808'])(
    'no id can follow %j',
    (after) => {
      const ids = new OrderedIds({ clock: clockAt(newYear), node: 7 });
      expect(() => ids.next(after)).toThrow('not an ordered id');
    },
  );

  test('two instances of one node differ where their millisecond begins by chance', () => {
    const idOf = (byte: number) =>
      new OrderedIds({ clock: clockAt(newYear), node: 7, random: { bytes: () => Uint8Array.of(0, byte) } });
    expect(idOf(1).next()).not.toBe(idOf(2).next());
  });
});

describe('a range of time', () => {
  test('holds the ids made in it, and no others', () => {
    fc.assert(
      fc.property(moments, nodes, fc.nat({ max: 999 }), (ms, node, micros) => {
        if (ms === EPOCH_MS) return;
        const id = layout(BigInt(ms) * 1000n + BigInt(micros), node, 15);
        expect(id >= orderedIdBefore(ms)).toBe(true);
        expect(id < orderedIdBefore(ms + 1)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test.each([EPOCH_MS, EPOCH_MS - 1, 0, -1e15])('is open at and before the epoch: %d', (ms) => {
    expect(orderedIdBefore(ms)).toBe('0'.repeat(20));
  });

  test('ends with the last id', () => {
    expect(orderedIdBefore(LAST_MS + 1)).toBe('09223372036854775807');
    expect(orderedIdBefore(Date.UTC(9999, 11, 31))).toBe('09223372036854775807');
  });
});

describe('the node', () => {
  const nobody = () => {
    throw new Error('the machine was asked');
  };
  test.each<[string, number]>([
    ['7', 7],
    [' 7 ', 7],
    ['+7', 7],
    ['512', 0],
    ['-1', 510],
    ['-2', 510],
    ['-505', 7],
    ['511', 510],
    ['1023', 510],
    [`1${'0'.repeat(40)}5`, 5],
    ['node-a', 358],
    [' node-a', 358],
  ])('of the setting %j is %d', (setting, node) => {
    expect(nodeOf(setting, nobody)).toBe(node);
  });

  test('without a setting comes from the name of the machine', () => {
    expect([null, '', ' '].map((setting) => nodeOf(setting, () => 'node-a'))).toEqual([358, 358, 358]);
    expect(nodeOf(null, () => '7')).not.toBe(7);
  });

  test('is always an allowed number', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.bigInt().map(String)), (setting) => {
        const node = nodeOf(setting, () => 'machine');
        expect(() => new OrderedIds({ clock: clockAt(newYear), node })).not.toThrow();
      }),
      { numRuns: 2000 },
    );
  });

  test.each([-1, 511, 1.5, Number.NaN])('%d is none', (node) => {
    expect(() => new OrderedIds({ clock: clockAt(newYear), node })).toThrow(RangeError);
  });
});
