import { describe, expect, test } from 'vitest';
import { offsetToken } from '../../functions/collections/rules/offset-page.ts';
import type { LexicalRequest } from '../../functions/collections/search/lexical-query.ts';
import { searchRecords } from '../../functions/collections/search-records.ts';
import type { SearchRequest } from '../../functions/collections/search-request.ts';
import { allOf, NAME, writeAll } from './records-search-stage.ts';
import { type RecordsConformance, RecordsStage } from './records-stage.ts';

const RECORDS = 6;

/** Searches without a matching candidate: the words are in another field, or the score is too low. */
const unmatched: readonly (readonly [string, LexicalRequest])[] = [
  ['a word in another field', { query: 'common', fields: ['/metadata'] }],
  ['a least score', { query: 'common', scoring: 'coverage', minScore: 2 }],
  [
    'all words, one of them in another field',
    { query: 'common note', matchMode: 'all', fields: ['/content'] },
  ],
  ['a scan', { query: '"..."' }],
  ['a prefix that no index holds', { query: 'co', prefixMatching: true, prefixMinChars: 1, fields: ['/id'] }],
];

async function filled(stage: RecordsStage): Promise<RecordsStage> {
  await stage.create({ name: NAME });
  const texts = Array.from({ length: RECORDS }, (_, n) =>
    JSON.stringify({ id: `r${n}`, partitionKey: 'p', type: 'note', content: 'common', n }),
  );
  await writeAll(stage, texts);
  return stage;
}

export function describeSearchBounds({ store }: RecordsConformance): void {
  const refusal = (message: RegExp) => ({
    code: 'search_budget_exceeded',
    message: expect.stringMatching(message) as string,
  });
  const ask = ({ parts, space }: RecordsStage, request: SearchRequest) =>
    searchRecords(parts, space, NAME, request);

  describe('a search for words without a match', () => {
    test.each(unmatched)('is empty where all candidates were scored: %s', async (_, lexical) => {
      const stage = await filled(new RecordsStage(store()));
      for (const scanLimit of [RECORDS, RECORDS + 1, null]) {
        expect(await allOf(stage, { lexical: { ...lexical, scanLimit } })).toEqual([]);
      }
    });

    test.each(unmatched)('is refused where others were not scored: %s', async (_, lexical) => {
      const stage = await filled(new RecordsStage(store(), { lexicalCandidatesMax: RECORDS }));
      for (const scanLimit of [1, RECORDS - 1]) {
        await expect(ask(stage, { lexical: { ...lexical, scanLimit } })).rejects.toMatchObject(
          refusal(new RegExp(`the ${scanLimit} scored candidates.*higher scanLimit, at most ${RECORDS}`)),
        );
      }
    });

    test('names the setting when the deployment limits the scored candidates', async () => {
      const stage = await filled(new RecordsStage(store(), { lexicalCandidatesMax: RECORDS - 1 }));
      const [, lexical] = unmatched[0]!;
      await expect(ask(stage, { lexical })).rejects.toMatchObject(
        refusal(/LexicalCandidatesMax.*partition keys or a filter/),
      );
    });
  });

  test('a search is not limited when its filter rejects all records behind the bound', async () => {
    const stage = await filled(new RecordsStage(store()));
    const lexical = { query: 'common', scanLimit: 2 };
    const below = (value: number) => ({ lexical, filter: { path: '/n', op: 'lt', value } });
    const limited = (found: Awaited<ReturnType<typeof allOf>>) =>
      found.map(({ diagnostics }) => diagnostics?.['details']).map((details) => Object(details));
    const [first, second, ...others] = limited(await allOf(stage, below(2)));
    expect([first, second, others]).toMatchObject([
      { lexicalScanLimitReached: false, lexicalCandidateCount: 2 },
      { lexicalScanLimitReached: false },
      [],
    ]);
    expect(limited(await allOf(stage, below(3)))).toMatchObject([
      { lexicalScanLimitReached: true, lexicalCandidateCount: 2 },
      { lexicalScanLimitReached: true },
    ]);
    const missing = { ...below(2), lexical: { ...lexical, fields: ['/metadata'] } };
    expect(await allOf(stage, missing)).toEqual([]);
  });

  test('a search reads no more entries than it scores candidates, and one', async () => {
    const stage = await filled(new RecordsStage(store(), { readsPerCallMax: 3, pageRecordsMax: 1 }));
    const found = await ask(stage, { lexical: { query: 'common', scanLimit: 1 } });
    expect(found.matches).toHaveLength(1);
    // Nothing can be read beside the candidates and the page, so there may be others.
    const [full] = (await ask(stage, { lexical: { query: 'common', scanLimit: 2 } })).matches;
    expect(JSON.parse(full!)).toMatchObject({ diagnostics: { details: { lexicalScanLimitReached: true } } });
    await expect(ask(stage, { lexical: { query: 'common', scanLimit: 3 } })).rejects.toMatchObject({
      code: 'search_budget_exceeded',
    });
  });

  describe('a search that has all candidates it may score, and cannot read on', () => {
    // The search uses the rare word first. None of the other records is a candidate, and the call may not read all of
    // them.
    const halted = async () => {
      const stage = new RecordsStage(store(), { readsPerCallMax: 20, pageRecordsMax: 1 });
      await stage.create({ name: NAME });
      const texts = Array.from({ length: 30 }, (_, n) =>
        JSON.stringify({ id: `r${n}`, partitionKey: 'p', content: n === 0 ? 'rare' : 'one and two', n }),
      );
      await writeAll(stage, texts);
      return stage;
    };
    const lexical = { query: 'rare "one two"', scanLimit: 1 };

    test('answers that there may be others', async () => {
      const stage = await halted();
      for (const filter of [null, { path: '/n', op: 'lt', value: 9 }]) {
        const [match, ...others] = await allOf(stage, { lexical, filter });
        expect(others).toEqual([]);
        expect(match).toMatchObject({
          record: { id: 'r0' },
          diagnostics: { details: { lexicalScanLimitReached: true, lexicalCandidateCount: 1 } },
        });
      }
    });

    test('is refused where its page has no match, or where it has fewer', async () => {
      const stage = await halted();
      const refused = refusal(/more than 20 records\. Search for words that fewer records hold/);
      const elsewhere = { ...lexical, fields: ['/metadata'] };
      await expect(ask(stage, { lexical: elsewhere })).rejects.toMatchObject(refused);
      await expect(ask(stage, { lexical: { ...lexical, scanLimit: 2 } })).rejects.toMatchObject(refused);
    });
  });

  test('a record of more words than an index holds is found by each of them', async () => {
    const stage = new RecordsStage(store());
    await stage.create({ name: NAME });
    const content = Array.from({ length: 4_100 }, (_, n) => `word${n}`).join(' ');
    await writeAll(stage, [JSON.stringify({ id: 'long', partitionKey: 'p', content })]);
    const searches: LexicalRequest[] = [
      { query: 'word4099' },
      { query: '"word4098 word4099"' },
      { query: 'word7 word4099', matchMode: 'all' },
      { query: 'word409', prefixMatching: true },
    ];
    const found = async () => {
      const ids: unknown[] = [];
      for (const lexical of searches) ids.push((await allOf(stage, { lexical })).map(({ record }) => record));
      return ids;
    };
    const long = [expect.objectContaining({ id: 'long' })];
    expect(await found()).toEqual([long, long, long, long]);
    // Records that hold the words alone change nothing of it.
    await writeAll(stage, [JSON.stringify({ id: 'short', partitionKey: 'q', content: 'word4099 word8' })]);
    expect(await found()).toEqual([expect.arrayContaining(long), long, long, expect.arrayContaining(long)]);
    expect(await allOf(stage, { lexical: { query: 'word4100' } })).toEqual([]);
  });

  test('a page behind the last match is refused where candidates were not scored', async () => {
    const stage = await filled(new RecordsStage(store()));
    const behind = (lexical: LexicalRequest, offset = 2) =>
      ask(stage, { lexical, continuationToken: offsetToken(offset) });
    await expect(behind({ query: 'common', scanLimit: 2 })).rejects.toMatchObject(refusal(/on the page/));
    // The answer has no more places, or all candidates were scored.
    const ended = { matches: [], continuationToken: null };
    expect(await behind({ query: 'common', scanLimit: 2, top: 2 })).toEqual(ended);
    expect(await behind({ query: 'common', scanLimit: RECORDS }, RECORDS)).toEqual(ended);
  });
}
