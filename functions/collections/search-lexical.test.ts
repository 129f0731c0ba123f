import { expect, test } from 'vitest';
import { finished } from '../kernel/turns.ts';
import type { Find, Moment } from '../store/port.ts';
import { ReadBudget } from './read-budget.ts';
import type { Incarnation } from './rules/incarnation.ts';
import { readPolicy } from './rules/policy.ts';
import { readRecord } from './rules/record-text.fixture.ts';
import { entryFormats, newestFormat } from './search/formats.ts';
import { lexiconMark } from './search/lexicon.ts';
import { rankByWords } from './search-lexical.ts';
import { KeptTexts } from './search-reader.ts';
import { readSearch } from './search-request.ts';
import { findableRecord, recordData } from './stored-record.ts';

const incarnation = 'a'.repeat(32) as Incarnation;
const policy = readPolicy({ name: 'c' });
const STAMP = { revision: 1, etag: 'rev:1', createdAt: '', updatedAt: '' };

function stored(id: string, content: string) {
  const record = readRecord(JSON.stringify({ id, partitionKey: 'p', content }), policy);
  return recordData(
    { incarnation, policy },
    finished(findableRecord({ incarnation, policy }, record, newestFormat())),
    STAMP,
  );
}

test('an entry whose record is not there takes the text of no other record', async () => {
  const all = [stored('one', 'word'), stored('two', 'nothing'), stored('three', 'word')];
  const entries = all.map(({ key, listing }) => {
    const orderKey = listing!.id;
    return { id: key.id, orderKey, lexicon: lexiconMark(orderKey) };
  });
  const search = readSearch({ lexical: { query: 'word' } }, policy, {
    candidatesMax: 100,
    formats: entryFormats,
  });
  if (search.mode !== 'lexical') throw new Error('the search has words');
  const find = ({ by, term }: { by: string; term?: string }) =>
    Promise.resolve(
      by === 'term' && term === 'tword' ? { entries, next: null } : { entries: [], next: null },
    );
  const query = () => Promise.resolve({ records: all.slice(1), next: null });
  const lane = { passed: () => undefined };
  const reader = {
    moment: { query } as unknown as Moment,
    find: find as unknown as Find,
    incarnation,
    budget: new ReadBudget(100, '', lane as never, 'search_budget_exceeded'),
    turns: { due: () => false, next: () => Promise.resolve() },
    bytes: { add: () => undefined, drop: () => undefined },
    kept: new KeptTexts(),
    formats: entryFormats,
  };
  const found = await rankByWords(reader, search.query, search.lexical, 10);
  expect(found.map(({ id }) => id)).toEqual([all[2]!.key.id]);
});
