import { expect, test } from 'vitest';
import { refusalOf } from '../../../test/support/refusal.ts';
import { documentOf, planOf, storedAfter } from './ingest.fixture.ts';
import { KeptChunks } from './kept-chunks.ts';

const [chunk] = storedAfter(planOf(documentOf({ text: 'a', documentId: 'd' })));

test('a record that several lookups find is kept once', () => {
  let counted = 0;
  const kept = new KeptChunks((characters) => {
    counted += characters;
  }, '');
  expect(kept.keep({ ...chunk! })).toBe(kept.keep({ ...chunk! }));
  const once = counted;
  kept.keep({ ...chunk!, partitionKey: 'q' });
  expect([once > 400, counted - once, [...kept.all].length]).toEqual([true, once, 2]);
});

test('the kept records have a bound, also if no request counts them', () => {
  const kept = new KeptChunks(() => undefined, 'Use larger chunks.');
  const metadata = { documentTextHash: 'x'.repeat(800_000) };
  const keep = (count: number) => {
    for (let at = 0; at < count; at += 1) kept.keep({ ...chunk!, id: `hand-${at}`, metadata });
  };
  keep(160);
  expect(refusalOf(() => keep(180))).toMatchObject({
    code: 'query_budget_exceeded',
    message: expect.stringContaining('Use larger chunks.') as string,
  });
});

test('the bound has room for all records that a plan of the largest document reads', () => {
  const kept = new KeptChunks(() => undefined, '');
  for (let at = 0; at < 100_000; at += 1) kept.keep({ ...chunk!, id: `${chunk!.id}-${at}` });
});
