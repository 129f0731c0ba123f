import { describe, expect, test } from 'vitest';
import { newIncarnation, removeCollection, replaceCollection } from '../../functions/collections/pointers.ts';
import { searchRecords } from '../../functions/collections/search-records.ts';
import type { SearchRequest } from '../../functions/collections/search-request.ts';
import { deleteRecord } from '../../functions/collections/write-records.ts';
import { ServiceError } from '../../functions/kernel/errors.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import {
  allOf,
  type Match,
  NAME,
  placeOf,
  vectorPolicies,
  vectorsOf,
  watchingFinds,
  writeAll,
} from './records-search-stage.ts';
import { type RecordsConformance, RecordsStage } from './records-stage.ts';

const word = { lexical: { query: 'word' } };
const near = { vector: { field: 'cosine', value: [1, 1, 1] } };
const recordOf = (id: string, content: string) =>
  JSON.stringify({ id, partitionKey: 'p', content, vectors: vectorsOf([1, 2, id.length]) });
const placesOf = (found: readonly Match[]) => found.map(({ record }) => placeOf(record)).sort();
const place = (id: string) => placeOf({ id, partitionKey: 'p' });

const absent = { code: 'collection_not_found' };

/** A store of which a test does something else right after a search has found for the first time. */
function interrupted(store: RecordStore, meanwhile: () => Promise<unknown>): RecordStore {
  let isOver = false;
  return watchingFinds(store, async () => {
    if (isOver) return;
    isOver = true;
    await meanwhile();
  });
}

/** Answers a search; `meanwhile` runs after its first find. `null`: the collection does not exist. */
async function during(
  stage: RecordsStage,
  store: RecordStore,
  request: SearchRequest,
  meanwhile: () => Promise<unknown>,
): Promise<readonly string[] | null> {
  const other = new RecordsStage(interrupted(store, meanwhile), {}, stage.space);
  return answerOf(other, request);
}

async function answerOf(stage: RecordsStage, request: SearchRequest): Promise<readonly string[] | null> {
  try {
    return placesOf(await allOf(stage, request));
  } catch (error) {
    if (error instanceof ServiceError && error.code === absent.code) return null;
    throw error;
  }
}

/** One moment for the whole answer. A store may give up a moment that others have passed, and read again at a later one. */
export function describeSearchMoments({ store }: RecordsConformance): void {
  describe.each([
    ['words', word],
    ['vectors', near],
    ['vectors with a condition', { ...near, filter: { path: '/content', op: 'contains', value: 'w' } }],
  ] as const)('a search for %s', (_, request) => {
    async function opened(): Promise<RecordsStage> {
      const stage = new RecordsStage(store());
      await stage.create({ name: NAME, vectorPolicies });
      await writeAll(stage, [recordOf('a', 'word one'), recordOf('bb', 'word two')]);
      return stage;
    }

    test('of an absent collection is refused', async () => {
      const { parts, space } = new RecordsStage(store());
      await expect(searchRecords(parts, space, NAME, request)).rejects.toMatchObject(absent);
    });

    test('sees all writes during its work, or none', async () => {
      const stage = await opened();
      const before = [place('a'), place('bb')];
      expect(await answerOf(stage, request)).toEqual(before);
      const found = await during(stage, store(), request, async () => {
        await deleteRecord(stage.parts, stage.space, NAME, { id: 'bb', partitionKey: 'p' });
      });
      const after = [place('a')];
      expect([before, after]).toContainEqual(found);
      expect(await answerOf(stage, request)).toEqual(after);
      const together = await during(stage, store(), request, () =>
        writeAll(stage, [recordOf('ccc', 'word three'), recordOf('dddd', 'word four')]),
      );
      const later = [place('a'), place('ccc'), place('dddd')];
      expect([after, later]).toContainEqual(together);
      expect(await answerOf(stage, request)).toEqual(later);
    });

    test('answers from one collection, also where it is deleted or replaced meanwhile', async () => {
      const stage = await opened();
      const { parts, space } = stage;
      const before = [place('a'), place('bb')];
      const removed = await during(stage, store(), request, () => removeCollection(parts, space, NAME));
      expect([before, null]).toContainEqual(removed);
      expect(await answerOf(stage, request)).toBeNull();
      const again = await stage.create({ name: NAME, vectorPolicies });
      await writeAll(stage, [recordOf('dddd', 'word four')]);
      const replaced = await during(stage, store(), request, () =>
        replaceCollection(parts, space, { ...again, incarnation: newIncarnation(parts) }),
      );
      expect([[place('dddd')], []]).toContainEqual(replaced);
      expect(await answerOf(stage, request)).toEqual([]);
    });
  });
}
