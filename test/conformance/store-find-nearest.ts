import { expect } from 'vitest';
import type { RecordStore, Scope } from '../../functions/store/port.ts';
import type { Metric, NearestMatch } from '../../functions/store/search.ts';
import { scoreOf } from '../simulation/memory-find.ts';
import {
  type Asked,
  type FindCheck,
  findIn,
  group,
  idOf,
  nearestTo,
  otherCollection,
  otherGroup,
  searched,
  spaceScope,
  unsearched,
  vector,
} from './store-find-fixtures.ts';
import { put, streamOf, write } from './store-fixtures.ts';

const metrics: readonly Metric[] = ['cosine', 'dotProduct', 'euclidean'];
const query = Float32Array.of(1, 2, 0, -1);
const points: Readonly<Record<string, readonly number[]>> = {
  a: [1, 2, 0, -1],
  b: [0.1, 0.2, 0, -0.1],
  c: [-1, -2, 0, 1],
  d: [1e-3, 0, 3e5, 0],
  e: [2, -1, 0.7, 0],
  f: [0, 0, 0, 0],
};

/** By record name, as the port orders them; listing ids are in the order of the names. */
function ranked(metric: Metric, asked: Float32Array, vectors: typeof points): NearestMatch[] {
  return Object.entries(vectors)
    .map(([name, values]) => ({ name, score: scoreOf(metric, asked, Float32Array.from(values)) }))
    .sort((left, right) => right.score - left.score || (left.name < right.name ? -1 : 1))
    .map(({ name, score }) => ({ id: idOf(name), score }));
}

async function matchesOf(store: RecordStore, scope: Scope, asked: Asked): Promise<readonly NearestMatch[]> {
  const found = await nearestTo(store, scope, asked);
  expect(found.complete).toBe(true);
  return found.matches;
}

async function namesOf(store: RecordStore, scope: Scope, asked: Asked, names: readonly string[]) {
  const matches = await matchesOf(store, scope, asked);
  return matches.map(({ id }) => names.find((name) => idOf(name) === id));
}

export const nearestChecks: Readonly<Record<string, FindCheck>> = {
  'ranks exactly by each metric, up to the limit': async (store) => {
    const scope = spaceScope();
    const slots = { cosine: '4a', dotProduct: '4b', euclidean: '4c' } as const;
    await put(
      store,
      scope,
      ...Object.entries(points).map(([name, values]) =>
        searched(name, { vectors: metrics.map((metric) => vector(slots[metric], metric, ...values)) }),
      ),
      searched('none'),
    );
    for (const metric of metrics) {
      for (const values of [query, Float32Array.of(0, 0, 0, 0), Float32Array.of(1, 1, 1, 1)]) {
        const expected = ranked(metric, values, points);
        for (const limit of [1, 3, 6, 7]) {
          const asked = { slot: slots[metric], metric, values, limit };
          expect(await matchesOf(store, scope, asked)).toEqual(expected.slice(0, limit));
        }
      }
    }
    const none = { slot: '4d', metric: 'cosine', values: query } as const;
    expect(await matchesOf(store, scope, none)).toEqual([]);
  },

  'orders equal scores by listing id, also at the limit': async (store) => {
    const scope = spaceScope();
    const ids = ['\u{1F600}', '\uFFFD', 'b\u0001a', 'b', 'a\u0001z', 'a\u0001', 'é', 'z', 'zz', 'Z'];
    const sorted = ids.toSorted((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right)));
    const equal = vector('3a', 'cosine', 1, 1, 1);
    await put(store, scope, ...ids.map((id) => searched(id, { listingId: id, vectors: [equal] })));
    for (const values of [Float32Array.of(2, 2, 2), Float32Array.of(0, 0, 0), Float32Array.of(1, -1, 0)]) {
      for (const limit of [1, 4, 9, 10, 30]) {
        const asked = { slot: '3a', metric: 'cosine', values, limit } as const;
        expect(await namesOf(store, scope, asked, ids)).toEqual(sorted.slice(0, limit));
      }
    }
    await put(store, scope, unsearched('Z', { listingId: 'zzz' }));
    const asked = { slot: '3a', metric: 'cosine', values: Float32Array.of(1, 1, 1) } as const;
    const moved = await namesOf(store, scope, asked, ids);
    expect(moved.indexOf('Z')).toBe(moved.indexOf('zz') + 1);
  },

  'follows vectors that change, leave and come back': async (store, other) => {
    const scope = spaceScope();
    const asked = { slot: '2a', metric: 'dotProduct', values: Float32Array.of(1, 0) } as const;
    const seen = async () => {
      const [one, two] = [await matchesOf(store, scope, asked), await matchesOf(other, scope, asked)];
      expect(two).toEqual(one);
      return one.map(({ id, score }) => [id, score]);
    };
    const at = (name: string, x: number) =>
      searched(name, { vectors: [vector('2a', 'dotProduct', x, 7), vector('2b', 'cosine', 1, x)] });
    expect(await seen()).toEqual([]);
    await put(store, scope, at('x', 1), at('y', 2), at('z', 3));
    expect(await seen()).toEqual([
      [idOf('z'), 3],
      [idOf('y'), 2],
      [idOf('x'), 1],
    ]);
    await put(other, scope, at('x', 4));
    await put(store, scope, searched('z', { vectors: [vector('2b', 'cosine', 1, 1)] }));
    expect(await seen()).toEqual([
      [idOf('x'), 4],
      [idOf('y'), 2],
    ]);
    await write(other, scope, [{ remove: at('y', 0).key }]);
    await put(store, scope, { ...unsearched('x', { listingId: 'later' }), head: { changed: true } });
    expect(await seen()).toEqual([[idOf('x'), 4]]);
    await put(other, scope, at('y', 5), at('z', 1));
    await put(store, scope, { ...unsearched('x'), search: null });
    expect(await seen()).toEqual([
      [idOf('y'), 5],
      [idOf('z'), 1],
    ]);
    await store.swap(scope, streamOf([at('x', -1), at('z', 1)]), () => undefined);
    expect(await seen()).toEqual([
      [idOf('z'), 1],
      [idOf('x'), -1],
    ]);
    await store.sweep(scope);
    await store.swap(scope, streamOf([]), () => undefined);
    expect(await seen()).toEqual([]);
  },

  'keeps slots, groups, collections and scopes apart': async (store) => {
    const [scope, neighbour] = [spaceScope(), spaceScope()];
    const at = (x: number) => [vector('2a', 'dotProduct', x, 0), vector('2b', 'dotProduct', 0, x)];
    await put(
      store,
      scope,
      searched('x', { vectors: at(1) }),
      searched('y', { vectors: at(2), group: otherGroup }),
      searched('x', { vectors: at(3), collection: otherCollection }),
    );
    await put(store, neighbour, searched('x', { vectors: at(4) }));
    const asked = { slot: '2a', metric: 'dotProduct', values: Float32Array.of(1, 0) } as const;
    const scores = async (place: Partial<Asked> = {}, where = scope) =>
      (await matchesOf(store, where, { ...asked, ...place })).map(({ score }) => score);
    expect(await scores()).toEqual([1]);
    expect(await scores({ group: otherGroup })).toEqual([2]);
    expect(await scores({ collection: otherCollection.name })).toEqual([3]);
    expect(await scores({}, neighbour)).toEqual([4]);
    expect(await scores({ slot: '2b' })).toEqual([0]);
    expect(await scores({ slot: '2c' })).toEqual([]);
    await put(store, scope, searched('x', { vectors: at(5), group: otherGroup }));
    expect(await scores()).toEqual([]);
    expect(await scores({ group: otherGroup })).toEqual([5, 2]);
  },

  'answers exactly within its reads, or says that they do not suffice': async (store) => {
    const scope = spaceScope();
    const names = Array.from({ length: 14 }, (_, n) => `n${String(n).padStart(2, '0')}`);
    const record = (name: string, n: number) =>
      searched(name, { vectors: [vector('2a', 'euclidean', n % 3, n % 4)] });
    await put(store, scope, ...names.map(record));
    const asked = { slot: '2a', metric: 'euclidean', values: Float32Array.of(1, 2), limit: 4 } as const;
    const expected = ranked(
      'euclidean',
      asked.values,
      Object.fromEntries(names.map((name, n) => [name, [n % 3, n % 4]])),
    );
    for (const readsMax of [0, 1, 3, 5, 13, 14, 100]) {
      const found = await nearestTo(store, scope, { ...asked, readsMax });
      expect(found.reads).toBeLessThanOrEqual(readsMax);
      if (found.complete) expect(found.matches).toEqual(expected.slice(0, 4));
    }
    expect(await matchesOf(store, scope, asked)).toEqual(expected.slice(0, 4));
  },

  'narrows to what the caller names, where it says so': async (store) => {
    const scope = spaceScope();
    const names = Array.from({ length: 24 }, (_, n) => `n${String(n).padStart(2, '0')}`);
    const facts = (n: number) => ({
      listingId: `${['p', 'pq', 'q'][n % 3]}\u0001${n}`,
      indexes: {
        colour: n % 2 === 0 ? 'red' : 'blue',
        ...(n % 4 === 3 ? {} : { rank: String(n).padStart(2, '0') }),
      },
    });
    const record = (name: string, n: number) =>
      searched(name, { ...facts(n), vectors: [vector('2a', 'dotProduct', n, 1)] });
    await put(store, scope, ...names.map(record));
    const cases: readonly (readonly [NonNullable<Asked['among']>, (n: number) => boolean])[] = [
      [{}, () => true],
      [{ equal: { colour: 'red' } }, (n) => n % 2 === 0],
      [{ equal: { colour: 'red', rank: '08' } }, (n) => n === 8],
      [{ equal: { colour: 'green' } }, () => false],
      [{ equal: { size: 'large' } }, () => false],
      [{ range: { index: 'rank', from: '04', to: '10' } }, (n) => n >= 4 && n <= 10 && n % 4 !== 3],
      [{ range: { index: 'rank', to: '02' } }, (n) => n <= 2],
      [{ range: { index: 'rank', from: '22' } }, (n) => n === 22],
      [{ range: { index: 'rank' } }, (n) => n % 4 !== 3],
      [{ idPrefixes: ['p\u0001'] }, (n) => n % 3 === 0],
      [{ idPrefixes: ['q\u0001', 'p\u0001'] }, (n) => n % 3 !== 1],
      [{ idPrefixes: ['p\u0001', 'p\u00011'] }, (n) => n % 3 === 0],
      [{ idPrefixes: ['r'] }, () => false],
      [{ idPrefixes: [] }, () => false],
      [
        {
          equal: { colour: 'blue' },
          range: { index: 'rank', from: '05' },
          idPrefixes: ['p\u0001', 'q\u0001'],
        },
        (n) => n % 2 === 1 && n >= 5 && n % 4 !== 3 && n % 3 !== 1,
      ],
      [{ equal: { rank: '08' }, range: { index: 'rank', from: '05', to: '08' } }, (n) => n === 8],
      [{ equal: { rank: '08' }, range: { index: 'rank', from: '09' } }, () => false],
    ];
    for (const [among, holds] of cases) {
      for (const limit of [3, 40]) {
        const asked = { slot: '2a', metric: 'dotProduct', values: Float32Array.of(1, 0), limit } as const;
        const found = await nearestTo(store, scope, { ...asked, among });
        expect(found.complete).toBe(true);
        const wanted = names
          .map((name, n) => ({ id: idOf(name), score: n, n }))
          .filter(({ n }) => !found.narrowed || holds(n))
          .reverse()
          .map(({ id, score }) => ({ id, score }));
        expect(found.matches).toEqual(wanted.slice(0, limit));
      }
    }
    const blue = { ...facts(0), indexes: { colour: 'blue' } };
    await put(store, scope, unsearched('n00', blue));
    const asked = { slot: '2a', metric: 'dotProduct', values: Float32Array.of(-1, 0), limit: 1 } as const;
    const found = await nearestTo(store, scope, { ...asked, among: { equal: { colour: 'blue' } } });
    expect(found.matches).toEqual([{ id: idOf('n00'), score: 0 }]);
  },

  'a vector shows in the next snapshot of every instance, and in none that is open': async (store, other) => {
    const scope = spaceScope();
    const asked = { slot: '2a', metric: 'dotProduct', values: Float32Array.of(1, 0) } as const;
    const request = {
      by: 'nearest',
      collection: 'records',
      group,
      ...asked,
      limit: 9,
      readsMax: 1_000,
    } as const;
    const revise = (writer: RecordStore, revision: number) =>
      put(
        writer,
        scope,
        searched('x', { vectors: [vector('2a', 'dotProduct', revision, 0)], head: { revision } }),
        ...(revision === 2
          ? [searched('y', { vectors: [vector('2a', 'dotProduct', 2, 0)], listingId: 'zz' })]
          : []),
      );
    for (const [writer, reader] of [
      [store, store],
      [store, other],
      [other, store],
    ] as const) {
      await write(writer, scope, [{ remove: searched('y').key }]);
      await revise(writer, 1);
      let isRevised = false;
      const seen = await reader.snapshot(scope, async (moment) => {
        const before = await moment.query({ by: 'keys', keys: [{ key: searched('x').key }] });
        if (!isRevised) {
          await revise(writer, 2);
          // Moves the matrix in memory past the moment.
          await nearestTo(reader, scope, asked);
        }
        isRevised = true;
        const { matches, complete } = await findIn(moment)(request);
        return {
          revision: before.records[0]?.head['revision'],
          complete,
          scores: matches.map((m) => m.score),
        };
      });
      expect([
        { revision: 1, complete: true, scores: [1] },
        { revision: 2, complete: true, scores: [2, 2] },
      ]).toContainEqual(seen);
      expect((await matchesOf(reader, scope, asked)).map(({ score }) => score)).toEqual([2, 2]);
    }
  },
};
