import { describe, expect, test } from 'vitest';
import { newIncarnation, replaceCollection } from '../../functions/collections/pointers.ts';
import type { SearchRequest } from '../../functions/collections/search-request.ts';
import type { JsonObject } from '../../functions/kernel/canonical-json.ts';
import { allOf, NAME, placeOf, writeAll } from './records-search-stage.ts';
import { type RecordsConformance, RecordsStage } from './records-stage.ts';

/** Loads of equal collections. */
const LOADS = 10;
const RECORDS = 100;
/** Holds both words, stands behind most records of either, and is the best by far. */
const BEST = placeOf({ partitionKey: 'q', id: 'r93' });

/** The records of an ordered load. */
export const orderedTexts: readonly string[] = Array.from({ length: RECORDS }, (_, n) => {
  const partitionKey = n % 2 === 0 ? 'p' : 'q';
  const text = n === 93 ? 'harbour lantern' : n % 4 < 2 ? 'harbour at night' : 'lantern by day';
  return JSON.stringify({ id: `r${n}`, partitionKey, content: { text }, metadata: { n } });
});

const isLate = { path: '/metadata/n', op: 'gte', value: 40 };
/** Each search scores far fewer candidates than match. */
const searches: readonly SearchRequest[] = [
  { lexical: { query: 'harbour lantern', scanLimit: 15 } },
  { lexical: { query: 'harbour lantern', scanLimit: 40, scoring: 'coverage' } },
  { lexical: { query: 'harb lant', prefixMatching: true, scanLimit: 15 } },
  { lexical: { query: '"harbour lantern" harbour lantern', scanLimit: 20 } },
  { lexical: { query: 'night day', scanLimit: 20, requiredPhraseGroups: [['harbour', 'lantern']] } },
  { lexical: { query: 'harbour lantern', scanLimit: 15 }, filter: isLate },
  { lexical: { query: 'harbour lantern', scanLimit: 15 }, partitionKeys: ['q'] },
];

/** The answers of searches that score few of their candidates: each has the best record in front. */
export async function boundedAnswers(stage: RecordsStage): Promise<readonly unknown[]> {
  const answers: unknown[] = [];
  for (const request of searches) {
    const found = await allOf(stage, request);
    answers.push(
      found.map(({ record, score, diagnostics }) => [
        placeOf(record),
        score,
        diagnostics?.['scoreComponents'],
      ]),
    );
    expect(Object(found[0]?.diagnostics?.['details'])).toMatchObject({ lexicalScanLimitReached: true });
    if (request.lexical?.query !== 'night day') expect(placeOf(found[0]?.record as JsonObject)).toBe(BEST);
  }
  return answers;
}

/** Which candidates a search scores where there are more than it may score. */
export function describeSearchOrder({ store }: RecordsConformance): void {
  async function loaded(written: readonly string[]): Promise<RecordsStage> {
    const stage = new RecordsStage(store());
    await stage.create({ name: NAME });
    await writeAll(stage, written);
    return stage;
  }

  describe('a search for words that scores few of its candidates', () => {
    test('answers the same from equal collections, and has the record with the most words', async () => {
      const first = await boundedAnswers(await loaded(orderedTexts));
      for (let load = 1; load < LOADS; load += 1) {
        // The order in which records are written makes no difference, either.
        const turned = [...orderedTexts.slice(load * 9), ...orderedTexts.slice(0, load * 9)];
        expect(await boundedAnswers(await loaded(turned))).toEqual(first);
      }
    });

    test('answers the same after the collection was replaced', async () => {
      const stage = new RecordsStage(store());
      const collection = await stage.create({ name: NAME });
      await writeAll(stage, orderedTexts);
      const before = await boundedAnswers(stage);
      const incarnation = newIncarnation(stage.parts);
      await replaceCollection(stage.parts, stage.space, { ...collection, incarnation });
      await writeAll(stage, orderedTexts);
      expect(await boundedAnswers(stage)).toEqual(before);
    });

    test('scores the first by partition key and id where they hold as many words', async () => {
      const stage = await loaded(orderedTexts);
      const scored = async (lexical: SearchRequest['lexical']) =>
        (await allOf(stage, { lexical: { top: RECORDS, ...lexical } })).map(({ record }) => placeOf(record));
      const listed = orderedTexts
        .map((text) => JSON.parse(text) as { partitionKey: string; id: string; content: { text: string } })
        .sort((a, b) => (a.partitionKey + a.id < b.partitionKey + b.id ? -1 : 1));
      const places = (some: typeof listed) =>
        some.map(({ partitionKey, id }) => placeOf({ partitionKey, id }));
      const one = listed.filter(({ content }) => content.text.includes('harbour'));
      expect((await scored({ query: 'harbour', scanLimit: 12 })).toSorted()).toEqual(
        places(one.slice(0, 12)).toSorted(),
      );
      const others = places(listed).filter((place) => place !== BEST);
      expect((await scored({ query: 'harbour lantern', scanLimit: 12 })).toSorted()).toEqual(
        [BEST, ...others.slice(0, 11)].toSorted(),
      );
    });
  });
}
