import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { recordId } from '../record-id.ts';
import type { Metric } from '../search.ts';
import { bruteForce, randomOf, request } from './brute-force.fixture.ts';
import { NearestSearch } from './nearest-search.ts';
import { SlotModel } from './slot-model.fixture.ts';

const MiB = 1024 * 1024;
const metrics: readonly Metric[] = ['cosine', 'dotProduct', 'euclidean'];
const turn = () => Promise.resolve();
const clock = { now: () => 0 };
const searchOf = (bytesMax = 64 * MiB) => new NearestSearch({ bytesMax, clock, turn, rowsUnloaded: 0 });

const magnitudes = [1, 1, 1, 1e38, 3e38, 1e-38, 1e-45, 1e-20, 1e20];
const component = fc.oneof(
  fc.constantFrom(0, -0, 1, -1, 0.5, 3.4028234663852886e38, -3.4028234663852886e38, 1.401298464324817e-45),
  fc.float({ noNaN: true, noDefaultInfinity: true, min: -1, max: 1 }),
);
/** Few directions and small variations of them, so that many scores are equal or nearly so. */
const vectorsOf = (dimensions: number, count: number) =>
  fc
    .tuple(
      fc.array(fc.array(component, { minLength: dimensions, maxLength: dimensions }), {
        minLength: 1,
        maxLength: 4,
      }),
      fc.array(
        fc.record({
          base: fc.nat(3),
          times: fc.constantFrom(...magnitudes, -1),
          at: fc.nat(dimensions - 1),
          by: fc.constantFrom(0, 0, 0, 1e-7, -1e-7, 1e-3, 1),
        }),
        { minLength: 1, maxLength: count },
      ),
    )
    .map(([bases, variations]) =>
      variations.map(({ base, times, at, by }) => {
        const values = Float32Array.from(bases[base % bases.length]!, (value) => finite(value * times));
        values[at] = finite(values[at]! + by * times);
        return values;
      }),
    );
const finite = (value: number) => Math.max(-3.4028234663852886e38, Math.min(3.4028234663852886e38, value));

describe('the nearest, from a matrix in memory', () => {
  test.each(metrics)(
    'are those of brute force in ids, order and score, also for hostile vectors: %s',
    async (metric) => {
      const search = searchOf();
      const cases = fc
        .constantFrom(1, 2, 3, 15, 16, 17, 40)
        .chain((dimensions) =>
          fc.record({ vectors: vectorsOf(dimensions, 60), limit: fc.integer({ min: 1, max: 12 }) }),
        );
      await fc.assert(
        fc.asyncProperty(cases, async ({ vectors: [query, ...stored], limit }) => {
          const model = new SlotModel();
          for (const [n, values] of stored.entries()) model.write(recordId(`${n}`), values, `l${n % 7} ${n}`);
          const asked = request(query!, { metric, limit });
          const found = await search.find(model.moment(), asked);
          expect(found.matches).toEqual(bruteForce(model.moment(), asked));
          expect(found).toMatchObject({ complete: true, narrowed: false });
        }),
        { numRuns: 2000 },
      );
    },
  );

  test.each(metrics)(
    'are those of brute force for vectors of 2,048 and 3,000 dimensions: %s',
    async (metric) => {
      for (const dimensions of [2048, 3000]) {
        const model = new SlotModel();
        const random = randomOf(dimensions);
        const vector = () => Float32Array.from({ length: dimensions }, () => random() - 0.5);
        for (let n = 0; n < 200; n += 1) model.write(recordId(`${n}`), vector());
        for (let n = 0; n < 5; n += 1) {
          const asked = request(vector(), { metric, limit: 10 });
          const rows = model.moment();
          expect((await searchOf().find(rows, asked)).matches).toEqual(bruteForce(model.moment(), asked));
          expect(rows.rowsRead.vectors).toBeLessThan(200);
        }
      }
    },
  );

  test('are rescored for few of many random vectors, and the matrix is loaded once', async () => {
    const model = new SlotModel();
    const random = randomOf(7);
    const vector = () => Float32Array.from({ length: 64 }, () => random() - 0.5);
    for (let n = 0; n < 5000; n += 1) model.write(recordId(`${n}`), vector());
    const search = searchOf();
    await search.find(model.moment(), request(vector()));
    for (let n = 0; n < 10; n += 1) {
      const rows = model.moment();
      const asked = request(vector(), { limit: 10, readsMax: 300 });
      const found = await search.find(rows, asked);
      expect(found.matches).toEqual(bruteForce(model.moment(), asked));
      expect(rows.rowsRead.changes).toBe(0);
      expect(found.reads).toBe(rows.rowsRead.vectors);
      expect(found.reads).toBeLessThan(150);
    }
  });

  test('of a query of zeros are the first by listing id, and no vector is read', async () => {
    const model = new SlotModel();
    for (let n = 0; n < 3000; n += 1) model.write(recordId(`${n}`), Float32Array.of(n, 1), `${9999 - n}`);
    const rows = model.moment();
    const found = await searchOf().find(rows, request(new Float32Array(2)));
    expect(found.matches).toEqual([2999, 2998, 2997].map((n) => ({ id: recordId(`${n}`), score: 0 })));
    expect(rows.rowsRead.vectors).toBe(0);
  });

  test('of vectors that are all equal are the first by listing id; too many reads are said', async () => {
    const model = new SlotModel();
    for (let n = 0; n < 3000; n += 1) model.write(recordId(`${n}`), Float32Array.of(1, 2), `${9999 - n}`);
    const search = searchOf();
    const asked = request(Float32Array.of(3, 1));
    const { matches, complete } = await search.find(model.moment(), asked);
    expect(matches.map(({ id }) => id)).toEqual([2999, 2998, 2997].map((n) => recordId(`${n}`)));
    expect(complete).toBe(true);
    expect(await search.find(model.moment(), { ...asked, readsMax: 2000 })).toMatchObject({
      matches: [],
      complete: false,
      reads: 2000,
    });
  });

  test('have any id', async () => {
    const model = new SlotModel();
    for (let n = 0; n < 50; n += 1) model.write(`name ${n}`, Float32Array.of(n, 1));
    const search = searchOf();
    const asked = request(Float32Array.of(1, 0));
    await search.find(model.moment(), asked);
    model.write('name 49', null);
    expect((await search.find(model.moment(), asked)).matches.map(({ id }) => id)).toEqual([
      'name 48',
      'name 47',
      'name 46',
    ]);
  });

  test('of a slot without any row are none', async () => {
    const rows = new SlotModel().moment();
    rows.state = () => Promise.resolve(null);
    expect(await searchOf().find(rows, request(Float32Array.of(1)))).toEqual({
      matches: [],
      complete: true,
      narrowed: false,
      reads: 0,
    });
  });
});

describe('among some records', () => {
  const model = new SlotModel();
  const random = randomOf(3);
  const vector = () => Float32Array.from({ length: 8 }, () => random() - 0.5);
  for (let n = 0; n < 1000; n += 1) model.write(recordId(`${n}`), vector());
  const ids = Array.from({ length: 200 }, (_, n) => recordId(`${n * 6}`));
  const asked = request(vector(), { among: { equal: { a: 'b' } }, limit: 5 });

  test('only these are read where nothing is loaded, and few of them where the matrix is', async () => {
    const search = searchOf();
    for (const isLoaded of [false, true]) {
      if (isLoaded) await search.find(model.moment(), request(vector()));
      const rows = model.moment();
      rows.narrowed = ids;
      const found = await search.find(rows, asked);
      expect(found).toMatchObject({ complete: true, narrowed: true, reads: rows.rowsRead.vectors });
      expect(found.matches).toEqual(bruteForce(model.moment(), asked, ids));
      expect(rows.rowsRead.changes).toBe(0);
      if (isLoaded) expect(found.reads).toBeLessThan(100);
      else expect(found.reads).toBe(167);
    }
  });

  test('a provider that cannot name them is asked for the whole group', async () => {
    const found = await searchOf().find(model.moment(), asked);
    expect(found).toMatchObject({ complete: true, narrowed: false });
    expect(found.matches).toEqual(bruteForce(model.moment(), asked));
  });

  test('a record that changed after the moment is scored as it was', async () => {
    const own = new SlotModel();
    for (let n = 0; n < 300; n += 1) own.write(recordId(`${n}`), vector());
    const search = searchOf();
    await search.find(own.moment(), request(vector()));
    const before = own.moment();
    before.narrowed = Array.from({ length: 150 }, (_, n) => recordId(`${n}`));
    for (let n = 0; n < 10; n += 1) own.write(recordId(`${n}`), n < 5 ? null : vector());
    await search.find(own.moment(), request(vector()));
    const found = await search.find(before, asked);
    expect(found.matches).toEqual(bruteForce(before, asked, before.narrowed));
  });
});

describe('memory', () => {
  const random = randomOf(5);
  const vector = () => Float32Array.from({ length: 256 }, () => random() - 0.5);
  const slotOf = (count: number, owner?: string) => {
    const model = new SlotModel(owner);
    for (let n = 0; n < count; n += 1) model.write(recordId(`${n}`), vector());
    return model;
  };

  test('for one row suffices: the search reads the rows of the moment, up to its reads', async () => {
    const model = slotOf(200);
    const search = searchOf(300);
    const asked = request(vector(), { readsMax: 200 });
    expect(await search.find(model.moment(), asked)).toEqual({
      matches: bruteForce(model.moment(), asked),
      complete: true,
      narrowed: false,
      reads: 200,
    });
    expect(await search.find(model.moment(), { ...asked, readsMax: 199 })).toMatchObject({ complete: false });
    expect(await search.find(model.moment(), { ...asked, readsMax: 99 })).toMatchObject({
      complete: false,
      reads: 0,
    });
    expect(search.bytes).toBe(0);
  });

  test('has the slots that were searched last', async () => {
    const models = [slotOf(300), slotOf(300), slotOf(300)];
    const search = searchOf(400_000);
    const loads = async (model: SlotModel) => {
      const rows = model.moment();
      const asked = request(vector());
      expect((await search.find(rows, asked)).matches).toEqual(bruteForce(rows, asked));
      expect(search.bytes).toBeLessThanOrEqual(400_000);
      return rows.rowsRead.changes;
    };
    const [first, second, third] = models as [SlotModel, SlotModel, SlotModel];
    expect([await loads(first), await loads(second), await loads(first)]).toEqual([300, 300, 0]);
    expect(await loads(third)).toBe(300);
    expect(await loads(first)).toBe(0);
    expect(await loads(second)).toBe(300);
  });

  test('that other searches hold is not taken: a slot beyond the reads is asked for again later', async () => {
    const [held, other] = [slotOf(300), slotOf(300)];
    const search = searchOf(270_000);
    const rows = held.moment();
    const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
    const { promise: going, resolve: go } = Promise.withResolvers<void>();
    rows.before = async (call) => {
      if (call !== 'vectors') return;
      stop();
      await going;
    };
    const asked = request(vector());
    const first = search.find(rows, asked);
    await stopped;
    await expect(search.find(other.moment(), { ...asked, readsMax: 100 })).rejects.toThrow(
      'not in memory yet',
    );
    expect((await search.find(other.moment(), asked)).matches).toEqual(bruteForce(other.moment(), asked));
    go();
    expect((await first).matches).toEqual(bruteForce(held.moment(), asked));
    expect((await search.find(other.moment(), { ...asked, readsMax: 100 })).complete).toBe(true);
  });

  test('is not taken from others in use by an owner with more than half of it', async () => {
    // Ten matrices have room.
    const search = searchOf(800_000);
    const loads = async (model: SlotModel) => {
      const rows = model.moment();
      const asked = request(vector());
      expect((await search.find(rows, asked)).matches).toEqual(bruteForce(rows, asked));
      return rows.rowsRead.changes > 0;
    };
    const busy = Array.from({ length: 20 }, () => slotOf(200, 'busy'));
    const [quiet, other] = [slotOf(200, 'quiet'), slotOf(200, 'other')];
    expect(await loads(quiet)).toBe(true);
    // One owner may use all free memory.
    for (let n = 0; n < 100; n += 1) await loads(busy[n % 20]!);
    expect(search.bytes).toBeGreaterThan(700_000);
    expect(await loads(quiet)).toBe(false);
    // A newcomer takes from the owner that has more than half.
    expect(await loads(other)).toBe(true);
    expect([await loads(quiet), await loads(other)]).toEqual([false, false]);
  });

  test('is evicted for others after a minute; until then no load is tried in vain', async () => {
    let now = 0;
    const options = { bytesMax: 1_000_000, clock: { now: () => now }, turn, rowsUnloaded: 0 };
    const search = new NearestSearch(options);
    const asked = request(vector(), { readsMax: 100 });
    const load = (model: SlotModel) => search.find(model.moment(), { ...asked, readsMax: 300 });
    for (const model of [slotOf(200, 'a'), slotOf(200, 'b')]) await load(model);
    const held = search.bytes;
    const large = slotOf(1500, 'large');
    now = 59_999;
    const rows = large.moment();
    await expect(search.find(rows, asked)).rejects.toThrow('not in memory yet');
    expect(rows.rowsRead.changes).toBe(0);
    expect(search.bytes).toBe(held);
    now = 60_000;
    expect((await search.find(large.moment(), asked)).matches).toEqual(bruteForce(large.moment(), asked));
  });

  test('is given back where a slot turns out not to fit', async () => {
    const model = slotOf(2000);
    const search = searchOf(300_000);
    const asked = request(vector());
    const rows = model.moment();
    const state = await rows.state();
    rows.state = () => Promise.resolve({ ...state!, rows: 100 });
    expect((await search.find(rows, asked)).matches).toEqual(bruteForce(model.moment(), asked));
    expect(search.bytes).toBe(0);
  });

  test('a row of 384 dimensions takes little more than its numbers', async () => {
    const model = new SlotModel();
    const values = new Float32Array(384).fill(1);
    const count = 20_000;
    for (let n = 0; n < count; n += 1) model.write(recordId(`${n}`), values);
    const search = searchOf();
    await search.find(model.moment(), request(new Float32Array(384)));
    expect(search.bytes / count).toBeLessThan(384 + 100);
  });
});

describe('loading', () => {
  const random = randomOf(9);
  const vector = () => Float32Array.from({ length: 64 }, () => random() - 0.5);
  const model = new SlotModel();
  for (let n = 0; n < 500; n += 1) model.write(recordId(`${n}`), vector());
  const options = { bytesMax: 64 * MiB, clock, turn, rowsUnloaded: 0, loadedPerPage: () => 100 };

  test('searches at one moment share it', async () => {
    const search = new NearestSearch(options);
    const both = [model.moment(), model.moment()];
    const asked = request(vector());
    const found = await Promise.all(both.map((rows) => search.find(rows, asked)));
    for (const { matches } of found) expect(matches).toEqual(bruteForce(model.moment(), asked));
    expect(both.map((rows) => rows.rowsRead.changes)).toEqual([500, 0]);
  });

  test('continues at a moment after the log was exceeded', async () => {
    const search = new NearestSearch(options);
    const passing = model.moment();
    let pages = 0;
    passing.before = (call) => {
      if (call === 'changes') pages += 1;
      if (pages === 4) throw new Error('the moment has passed');
    };
    await expect(search.find(passing, request(vector()))).rejects.toThrow('has passed');
    const next = model.moment();
    const asked = request(vector());
    expect((await search.find(next, asked)).matches).toEqual(bruteForce(model.moment(), asked));
    expect(next.rowsRead.changes).toBe(200);
  });

  test('reads the changes, and everything again when deleted tombstones may be missing', async () => {
    const own = new SlotModel();
    for (let n = 0; n < 500; n += 1) own.write(recordId(`${n}`), vector());
    const search = new NearestSearch(options);
    const reads = async () => {
      const rows = own.moment();
      const asked = request(vector());
      expect((await search.find(rows, asked)).matches).toEqual(bruteForce(rows, asked));
      return rows.rowsRead.changes;
    };
    expect(await reads()).toBe(500);
    for (let n = 0; n < 7; n += 1) own.write(recordId(`${n}`), n < 3 ? null : vector());
    expect(await reads()).toBe(7);
    own.trim();
    expect(await reads()).toBe(0);
    own.write(recordId('9'), null);
    own.trim();
    expect(await reads()).toBe(496);
  });

  describe('that a moment interrupted', () => {
    const pass = async (search: NearestSearch, own: SlotModel, page: number) => {
      const passing = own.moment();
      let pages = 0;
      passing.before = (call) => {
        if (call === 'changes') pages += 1;
        if (pages === page) throw new Error('the moment has passed');
      };
      await expect(search.find(passing, request(vector()))).rejects.toThrow('has passed');
    };
    const filled = () => {
      const own = new SlotModel();
      for (let n = 0; n < 500; n += 1) own.write(recordId(`${n}`), vector());
      return own;
    };

    test('is not continued at an earlier moment, which would miss changes in between', async () => {
      const own = filled();
      const search = new NearestSearch(options);
      const earlier = own.moment();
      const asked = request(vector(), { limit: 50 });
      for (let n = 0; n < 40; n += 1) own.write(recordId(`${n}`), vector());
      await pass(search, own, 2);
      expect((await search.find(earlier, asked)).matches).toEqual(bruteForce(earlier, asked));
    });

    test('does not use a loaded matrix at a moment in between, whose changes it lacks', async () => {
      const own = filled();
      const search = new NearestSearch(options);
      const asked = request(vector());
      await search.find(own.moment(), asked);
      own.write(recordId('7'), asked.values);
      const between = own.moment();
      for (let n = 100; n < 210; n += 1) own.write(recordId(`${n}`), vector());
      own.write(recordId('7'), vector());
      await pass(search, own, 2);
      expect((await search.find(between, asked)).matches).toEqual(bruteForce(between, asked));
      expect(bruteForce(between, asked)[0]?.id).toBe(recordId('7'));
    });
  });
});
