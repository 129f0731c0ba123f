import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { removeCollection, replaceCollection } from '../../functions/collections/pointers.ts';
import { readCollection } from '../../functions/collections/read-policy.ts';
import { policyKey, spaceScope } from '../../functions/collections/store-collections.ts';
import {
  entryMarksKey,
  UPKEEP_SCOPE,
  upkeepListing,
} from '../../functions/collections/upkeep-collections.ts';
import type { Head, RecordStore } from '../../functions/store/port.ts';
import { NAME, ReindexStage, sweepInLives } from './records-reindex.ts';
import { recordCollections } from './records-stage.ts';
import { openStore, type TestedStore } from './stores/tested-store.ts';

interface Effort {
  /** Records of the collection that is killed at some commits of its sweep. */
  readonly many: number;
  /** Records of each collection that is killed at one commit. */
  readonly few: number;
  /** How many commits are killed one by one. */
  readonly kills: number;
}

/** The sweep that prepares the records of an earlier release for searches. */
export function describeReindex(tested: TestedStore, { many, few, kills }: Effort): void {
  describe(`records that are reindexed on ${tested.title}`, () => {
    let store: RecordStore;
    beforeAll(async () => {
      store = await openStore(tested, recordCollections);
    });
    afterAll(() => store.close());

    const setHead = async (stage: ReindexStage, members: Head) => {
      const key = policyKey(NAME);
      await store.transact(spaceScope(stage.stage.space), { keys: [{ key }] }, (found) => {
        const head = { ...found.get(key)?.head, ...members };
        return { writes: [{ put: { key, head } }], result: null };
      });
    };

    const filled = async (count: number) => {
      const stage = new ReindexStage(store);
      await stage.fill(count);
      return stage;
    };

    test('are found after sweeps that are killed repeatedly, and searches are refused until then', async () => {
      const stage = await filled(many);
      const lives = (life: number) => [4 + (life % 3), life % 2 === 0 ? 'before' : 'behind'] as const;
      expect(await sweepInLives(stage, lives)).toBe('equal');
    }, 300_000);

    test('are found when any commit of the sweep is the last of its process', async () => {
      for (let commit = 1; commit <= kills; commit += 1) {
        const stage = await filled(few);
        const lives = (life: number) => [life === 0 ? commit : 1_000, 'behind'] as const;
        expect([commit, await sweepInLives(stage, lives)]).toEqual([commit, 'equal']);
      }
    }, 300_000);

    test('are found after timed-out sweeps that continue at once, each from the end of the one before', async () => {
      const stage = await filled(few);
      await stage.verdict();
      let prepared = 0;
      for (let sweeps = 0; (await stage.verdict()) === 'refused'; sweeps += 1) {
        expect(sweeps).toBeLessThan(few);
        prepared += await stage.shortSweep(3);
      }
      expect(await stage.verdict()).toBe('equal');
      expect(prepared).toBe(few);
    });

    test('keep their revisions, and those written meanwhile are found as they were written', async () => {
      const stage = await filled(few);
      await stage.verdict();
      await stage.killedSweep(4, 'behind');
      const found = await stage.stage.put(NAME, { id: 'r0001', partitionKey: 'p1', content: 'omega' });
      expect(found.stamp.revision).toBe(2);
      while (await stage.killedSweep(1_000, 'behind'));
      expect(await stage.answer({ lexical: { query: 'omega' } })).toHaveLength(1);
      expect(await stage.answer({ lexical: { query: 'word1' } })).toEqual([]);
    });

    test('of a collection that is deleted or replaced meanwhile end the sweep', async () => {
      for (const change of ['deleted', 'replaced']) {
        const stage = await filled(few);
        await stage.verdict();
        await stage.killedSweep(4, 'behind');
        const { parts, space } = stage.stage;
        const before = await readCollection(parts, space, NAME);
        if (change === 'deleted') {
          await removeCollection(parts, space, NAME);
          await stage.stage.create({ name: NAME });
        } else {
          if (before === null) throw new Error('the collection is not known');
          const incarnation = randomUUID().replaceAll('-', '') as typeof before.incarnation;
          await replaceCollection(parts, space, { ...before, incarnation });
        }
        await stage.stage.put(NAME, { id: 'new', partitionKey: 'p', content: 'omega' });
        await stage.sweep();
        expect(await stage.answer({ lexical: { query: 'alpha omega' } })).toHaveLength(1);
      }
    });

    test('are swept after a rest, whichever commit of its begin is the last of a process', async () => {
      for (let commit = 1; commit <= 4; commit += 1) {
        const stage = await filled(2);
        await stage.verdict();
        await stage.sweep();
        await setHead(stage, { entriesFrom: 2, entriesTo: 2 });
        stage.stage.world.now += 600_001;
        await stage.verdict();
        await stage.killedSweep(commit, 'behind');
        await stage.sweep();
        expect([commit, await stage.verdict()]).toEqual([commit, 'refused']);
        stage.stage.world.now += 600_001;
        await stage.sweep();
        expect([commit, await stage.verdict()]).toEqual([commit, 'equal']);
      }
    }, 300_000);

    test('of a newer release are left to it as long as it runs, and then swept once none of its calls can run', async () => {
      const stage = await filled(few);
      await stage.verdict();
      await stage.sweep();
      expect(await stage.verdict()).toBe('equal');
      const { world } = stage.stage;
      const marks = entryMarksKey();
      await setHead(stage, { entriesFrom: 2, entriesTo: 2 });
      await store.transact(UPKEEP_SCOPE, { keys: [{ key: marks }] }, () => {
        const put = { key: marks, head: { v2: world.now }, body: null, listing: upkeepListing(marks) };
        return { writes: [{ put }], result: null };
      });
      expect(await stage.verdict()).toBe('refused');
      await stage.sweep();
      expect(await stage.head()).toMatchObject({ entriesFrom: 2, entriesTo: 2 });
      await stage.putBoth({ id: 'r0001', partitionKey: 'p1', content: 'omega' });
      expect(await stage.head()).toMatchObject({ entriesFrom: 1, entriesTo: 2 });
      expect(await stage.verdict()).toBe('refused');
      await stage.sweep();
      expect(await stage.head()).not.toHaveProperty('entriesNext');
      world.now += 600_001;
      expect(await stage.verdict()).toBe('refused');
      await stage.sweep();
      expect(await stage.head()).toMatchObject({ entriesFrom: 1, entriesTo: 2, entriesNext: 1 });
      expect(await stage.verdict()).toBe('refused');
      world.now += 600_001;
      await stage.sweep();
      expect(await stage.verdict()).toBe('equal');
      expect(await stage.head()).toMatchObject({ entriesFrom: 1, entriesTo: 1 });
    });
  });
}
