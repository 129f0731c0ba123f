import { expect } from 'vitest';
import { created, type RecordBehaviour } from './said-defaults-records.ts';

/** The behaviour of searches by words if members of their options are absent. */

const filler = Array.from({ length: 60 }, (_, index) => `word${index}`).join(' ');

/** The first record has the highest score; the scores of the others leave room for every boost. */
const records = [
  { id: 'often', content: { text: 'red red red red apple' } },
  { id: 'title', content: { title: 'red apple', text: filler } },
  { id: 'tagged', content: { text: filler }, metadata: { fruit: 'apple' } },
];

function searched(other: unknown, search: object = {}): RecordBehaviour {
  return {
    other,
    async of(call, added) {
      const { name } = await created(call);
      for (const record of records) {
        const { status: stored } = await call('POST', `/collections/${name}/records`, {
          partitionKey: 'p',
          ...record,
        });
        expect(stored).toBe(201);
      }
      const lexical = { query: 'red apple', ...search, ...added };
      const { status, body } = await call('POST', `/collections/${name}/search`, { lexical });
      if (status !== 200) return status;
      const { items } = body as { items: readonly { record: { id: string }; score: number }[] };
      return items.map(({ record, score }) => [record.id, score]);
    },
  };
}

export const searchesAsDone: Readonly<Record<string, RecordBehaviour>> = {
  'LexicalSearchOptions.scoring': searched('coverage'),
  'LexicalSearchOptions.matchMode': searched('all'),
  'LexicalSearchOptions.bm25K1': searched(2),
  'LexicalSearchOptions.bm25B': searched(0.1),
  'LexicalSearchOptions.phraseBoost': searched(0.01),
  'LexicalSearchOptions.exactBoost': searched(0.01),
  'LexicalSearchOptions.metadataBoost': searched(0.01),
  'LexicalSearchOptions.prefixMatching': searched(true, { query: 'app' }),
  'LexicalSearchOptions.prefixMinChars': searched(4, { query: 'app', prefixMatching: true }),
};
