import { expect, test } from 'vitest';
import { refusalOf } from '../../../test/support/refusal.ts';
import { documentOf, planOf, storedAfter } from './ingest.fixture.ts';
import { KeptChunks } from './kept-chunks.ts';

const [chunk] = storedAfter(planOf(documentOf({ text: 'a', documentId: 'd' })));

test('a record that is found in several ways is kept once', () => {
  let counted = 0;
  const kept = new KeptChunks((characters) => {
    counted += characters;
  }, '');
  expect(kept.keep({ ...chunk! })).toBe(kept.keep({ ...chunk! }));
  const once = counted;
  kept.keep({ ...chunk!, partitionKey: 'q' });
  expect([once > 400, counted - once, [...kept.all].length]).toEqual([true, once, 2]);
});

test('what is kept has a bound, also where no request counts it', () => {
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

test('it has room for all records that a plan looks at of the largest document', () => {
  const kept = new KeptChunks(() => undefined, '');
  for (let at = 0; at < 100_000; at += 1) kept.keep({ ...chunk!, id: `${chunk!.id}-${at}` });
});
