import { expect } from 'vitest';
import type { RecordStore, Scope } from '../../functions/store/port.ts';
import {
  countsOf,
  type FindCheck,
  findIn,
  group,
  holdersOf,
  idOf,
  idsOf,
  otherCollection,
  otherGroup,
  searched,
  spaceScope,
  unsearched,
} from './store-find-fixtures.ts';
import { put, streamOf, write } from './store-fixtures.ts';

/** Most databases take the two words of a pair for one, or cut, stem or drop one of them. */
const lookalikes = [
  ['resume', 'résumé'],
  ['strasse', 'straße'],
  ['σας', 'σασ'],
  ['é', 'e\u0301'],
  ['ı', 'i'],
  ['ｗｉｄｅ', 'wide'],
  ['か', 'が'],
  ['カ', 'か'],
  ['٣', '3'],
  ['đ', 'd'],
  ['æ', 'ae'],
  ['run', 'running'],
  ['the', 'tthe'],
  ['a', 'aa'],
  [`${'w'.repeat(40)}a`, `${'w'.repeat(40)}b`],
  [`t${'語'.repeat(39)}一`, `t${'語'.repeat(39)}丁`],
  [`${'𝒳'.repeat(20)}a`, `${'𝒳'.repeat(20)}b`],
  ['日本', '日本語'],
  ['שלום', 'שלומ'],
  ['กำ', 'ก'],
  ['x1', '1x'],
] as const;

const nothing = (): void => undefined;

/** Finds by term follow all writes. */
export const termLifeChecks: Readonly<Record<string, FindCheck>> = {
  'finds a record by each of its terms, from its creation to its removal': async (store) => {
    const scope = spaceScope();
    expect(await countsOf(store, scope, ['one'])).toEqual([0]);
    expect(await holdersOf(store, scope, 'one')).toEqual([]);
    await put(store, scope, searched('x', { terms: ['one', 'two'] }), searched('y', { terms: ['two'] }));
    expect(await countsOf(store, scope, ['two', 'none', 'one'])).toEqual([2, 0, 1]);
    expect(await holdersOf(store, scope, 'two')).toEqual(idsOf('x', 'y'));
    await put(store, scope, searched('x', { terms: ['three'] }));
    expect(await countsOf(store, scope, ['one', 'two', 'three'])).toEqual([0, 1, 1]);
    expect(await holdersOf(store, scope, 'two')).toEqual(idsOf('y'));
    await write(store, scope, [{ remove: searched('x').key }]);
    expect(await countsOf(store, scope, ['one', 'two', 'three'])).toEqual([0, 1, 0]);
    expect(await holdersOf(store, scope, 'three')).toEqual([]);
    await put(store, scope, searched('x', { terms: ['two'] }));
    expect(await holdersOf(store, scope, 'two')).toEqual(idsOf('x', 'y'));
  },

  'a write without a search entry keeps it, and one with null removes it': async (store) => {
    const scope = spaceScope();
    await put(store, scope, searched('x', { terms: ['kept'] }), unsearched('y'));
    await put(store, scope, unsearched('x', { listingId: 'moved' }), unsearched('y'));
    await put(store, scope, { key: searched('x').key, head: { only: 'head' } });
    expect(await holdersOf(store, scope, 'kept')).toEqual(idsOf('x'));
    await put(store, scope, { ...unsearched('x'), search: null }, { ...unsearched('y'), search: null });
    expect(await countsOf(store, scope, ['kept'])).toEqual([0]);
    expect(await holdersOf(store, scope, 'kept')).toEqual([]);
    await put(store, scope, unsearched('x'));
    expect(await holdersOf(store, scope, 'kept')).toEqual([]);
    await put(store, scope, searched('y', { terms: ['kept'] }));
    expect(await holdersOf(store, scope, 'kept')).toEqual(idsOf('y'));
  },

  'gives the lexicon of the latest entry, short or long': async (store) => {
    const scope = spaceScope();
    const lexicon = async () => {
      const request = { by: 'term', collection: 'records', group, term: 'one', limit: 5 } as const;
      const page = await store.snapshot(scope, (moment) => findIn(moment)(request));
      return page.entries;
    };
    await put(store, scope, searched('x', { terms: ['one'], lexicon: '' }));
    expect(await lexicon()).toEqual([{ id: idOf('x'), orderKey: idOf('x'), lexicon: '' }]);
    for (const text of ['a\u0001b "ü😀\\', 'é'.repeat(30_000)]) {
      await put(store, scope, searched('x', { terms: ['one'], lexicon: text }));
      expect(await lexicon()).toEqual([{ id: idOf('x'), orderKey: idOf('x'), lexicon: text }]);
    }
  },

  'a swap replaces what is found': async (store) => {
    const scope = spaceScope();
    await put(store, scope, searched('x', { terms: ['one', 'old'] }), searched('y', { terms: ['one'] }));
    const loaded = [searched('x', { terms: ['one', 'new'] }), unsearched('y'), searched('z')];
    await store.swap(scope, streamOf(loaded), nothing);
    expect(await countsOf(store, scope, ['one', 'old', 'new'])).toEqual([1, 0, 1]);
    expect(await holdersOf(store, scope, 'one')).toEqual(idsOf('x'));
    const failing = store.swap(scope, streamOf([searched('w', { terms: ['one'] })]), () => {
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    await store.sweep(scope);
    expect(await holdersOf(store, scope, 'one')).toEqual(idsOf('x'));
    await store.swap(scope, streamOf([]), nothing);
    expect(await countsOf(store, scope, ['one', 'new'])).toEqual([0, 0]);
  },

  'a write shows in the next snapshot of every instance, and in none that is open': async (store, other) => {
    const scope = spaceScope();
    await revise(store, scope, 1);
    for (const [writer, reader] of [
      [store, store],
      [store, other],
      [other, store],
    ] as const) {
      await revise(writer, scope, 1);
      let isRevised = false;
      const seen = await reader.snapshot(scope, async (moment) => {
        const before = await moment.query({ by: 'keys', keys: [{ key: searched('x').key }] });
        if (!isRevised) await revise(writer, scope, 2);
        isRevised = true;
        const revision = before.records[0]?.head['revision'];
        const place = { collection: 'records', group };
        const { counts } = await findIn(moment)({ by: 'counts', ...place, terms: ['r1', 'r2'], max: 9 });
        const page = await findIn(moment)({ by: 'term', ...place, term: 'r1', limit: 5 });
        return { revision, counts, entries: page.entries.length };
      });
      expect([
        { revision: 1, counts: [1, 0], entries: 1 },
        { revision: 2, counts: [0, 1], entries: 0 },
      ]).toContainEqual(seen);
      expect(await countsOf(reader, scope, ['r1', 'r2'])).toEqual([0, 1]);
      expect(await holdersOf(reader, scope, 'r2')).toEqual(idsOf('x'));
    }
  },
};

/** The first and the last record of finds by term. */
export const termPlaceChecks: Readonly<Record<string, FindCheck>> = {
  'keeps groups, collections and scopes apart': async (store) => {
    const [scope, neighbour] = [spaceScope(), spaceScope()];
    const terms = ['same'];
    await put(
      store,
      scope,
      searched('x', { terms }),
      searched('y', { terms, group: otherGroup }),
      searched('x', { terms, collection: otherCollection }),
    );
    await put(store, neighbour, searched('z', { terms }));
    expect(await holdersOf(store, scope, 'same')).toEqual(idsOf('x'));
    expect(await holdersOf(store, scope, 'same', { group: otherGroup })).toEqual(idsOf('y'));
    expect(await holdersOf(store, scope, 'same', { collection: otherCollection })).toEqual(idsOf('x'));
    expect(await holdersOf(store, neighbour, 'same')).toEqual(idsOf('z'));
    for (const place of [{}, { group: otherGroup }, { collection: otherCollection }])
      expect(await countsOf(store, scope, terms, place)).toEqual([1]);
    expect(await countsOf(store, scope, terms, { group: 'c'.repeat(32) })).toEqual([0]);
    await put(store, scope, searched('x', { terms, group: otherGroup }));
    expect(await holdersOf(store, scope, 'same')).toEqual([]);
    expect(await holdersOf(store, scope, 'same', { group: otherGroup })).toEqual(idsOf('x', 'y'));
    await write(store, scope, [{ remove: searched('x', { collection: otherCollection }).key }]);
    expect(await holdersOf(store, scope, 'same', { collection: otherCollection })).toEqual([]);
    expect(await holdersOf(store, scope, 'same', { group: otherGroup })).toEqual(idsOf('x', 'y'));
  },

  'takes terms as they are, in any script and of any length up to 41': async (store) => {
    const scope = spaceScope();
    const all = lookalikes.flat();
    await put(store, scope, searched('all', { terms: [...new Set<string>(all)] }));
    await put(store, scope, searched('left', { terms: lookalikes.map(([left]) => left) }));
    await put(store, scope, searched('right', { terms: lookalikes.map(([, right]) => right) }));
    expect(await countsOf(store, scope, all)).toEqual(
      all.map((term) => {
        const isLeft = lookalikes.some(([left]) => left === term);
        const isRight = lookalikes.some(([, right]) => right === term);
        return 1 + Number(isLeft) + Number(isRight);
      }),
    );
    expect(await holdersOf(store, scope, 'résumé')).toEqual(idsOf('all', 'right'));
    expect(await holdersOf(store, scope, `${'w'.repeat(40)}a`)).toEqual(idsOf('all', 'left'));
    expect(await holdersOf(store, scope, 'w'.repeat(40))).toEqual([]);
  },

  'a record has up to 4,000 terms': async (store) => {
    const scope = spaceScope();
    const terms = Array.from({ length: 4_000 }, (_, n) => `t${String(n).padStart(6, 'ß')}`);
    await put(store, scope, searched('many', { terms }), searched('none'));
    const asked = [terms[0] ?? '', terms[1_999] ?? '', terms[3_999] ?? '', 'tßß4000'];
    expect(await countsOf(store, scope, asked)).toEqual([1, 1, 1, 0]);
    await put(store, scope, searched('many', { terms: terms.slice(1) }));
    expect(await countsOf(store, scope, asked)).toEqual([0, 1, 1, 0]);
    await write(store, scope, [{ remove: searched('many').key }]);
    expect(await countsOf(store, scope, asked)).toEqual([0, 0, 0, 0]);
  },

  'counts up to the maximum': async (store) => {
    const scope = spaceScope();
    const names = Array.from({ length: 12 }, (_, n) => `n${n}`);
    await put(
      store,
      scope,
      ...names.map((name, n) => searched(name, { terms: n < 5 ? ['all', 'five'] : ['all'] })),
    );
    const terms = ['all', 'five', 'none', 'all'];
    expect(await countsOf(store, scope, terms, { max: 1_000 })).toEqual([12, 5, 0, 12]);
    expect(await countsOf(store, scope, terms, { max: 12 })).toEqual([12, 5, 0, 12]);
    expect(await countsOf(store, scope, terms, { max: 5 })).toEqual([5, 5, 0, 5]);
    expect(await countsOf(store, scope, terms, { max: 1 })).toEqual([1, 1, 0, 1]);
    expect(await countsOf(store, scope, [])).toEqual([]);
  },

  'orders the records of a term by the bytes of their order keys, and follows a record that moves': async (
    store,
  ) => {
    const scope = spaceScope();
    // In the order of UTF-16 the last one stands before the third.
    const keys = ['a', 'b\u0001x', '\uE000', '\uFFFD', '😀'];
    const records = keys.map((orderKey, n) => searched(`n${n}`, { terms: ['all', `own${n}`], orderKey }));
    await put(store, scope, ...records.toReversed());
    const ordered = (...numbers: readonly number[]) => numbers.map((n) => idOf(`n${n}`));
    for (const limit of [1, 2, 5])
      expect(await holdersOf(store, scope, 'all', { limit })).toEqual(ordered(0, 1, 2, 3, 4));
    await put(store, scope, searched('n1', { terms: ['all', 'own1'], orderKey: '\uFFFE' }));
    for (const limit of [1, 2, 5])
      expect(await holdersOf(store, scope, 'all', { limit })).toEqual(ordered(0, 2, 3, 1, 4));
    expect(await holdersOf(store, scope, 'own1')).toEqual(ordered(1));
    await put(store, scope, searched('n1', { terms: ['own1'], orderKey: 'b' }));
    expect(await holdersOf(store, scope, 'all')).toEqual(ordered(0, 2, 3, 4));
    await write(store, scope, [{ remove: searched('n1').key }]);
    expect(await countsOf(store, scope, ['all', 'own1'])).toEqual([4, 0]);
  },

  'order keys are up to 768 bytes long': async (store) => {
    const scope = spaceScope();
    const keys = ['é'.repeat(384), `${'é'.repeat(383)}zz`];
    const terms = ['all', 'w'.repeat(41)];
    await put(store, scope, ...keys.map((orderKey, n) => searched(`n${n}`, { terms, orderKey })));
    expect(await holdersOf(store, scope, 'all', { limit: 1 })).toEqual([idOf('n1'), idOf('n0')]);
  },

  'pages through a term in the order of its records, from any order key on': async (store) => {
    const scope = spaceScope();
    const names = Array.from({ length: 9 }, (_, n) => `n${n}`);
    await put(store, scope, ...names.map((name) => searched(name, { terms: ['all'] })));
    const ids = idsOf(...names);
    for (const limit of [1, 3, 8, 9, 10])
      expect(await holdersOf(store, scope, 'all', { limit })).toEqual(ids);
    const from = async (after: string) => {
      const request = { by: 'term', collection: 'records', group, term: 'all', limit: 4, after } as const;
      return store.snapshot(scope, (moment) => findIn(moment)(request));
    };
    const page = await from(ids[1] ?? '');
    expect(page).toMatchObject({ entries: ids.slice(2, 6).map((id) => ({ id })), next: ids[5] });
    expect(await from(ids[8] ?? '')).toEqual({ entries: [], next: null });
    expect((await from('0'.repeat(32))).entries.map(({ id }) => id)).toEqual(ids.slice(0, 4));
    expect((await from(ids[4] ?? '')).next).toBeNull();
  },
};

function revise(store: RecordStore, scope: Scope, revision: number): Promise<void> {
  return put(store, scope, searched('x', { terms: [`r${revision}`], head: { revision } }));
}
