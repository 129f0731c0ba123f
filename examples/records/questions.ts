import type { QueryEnvelope, SvcClient } from '../../sdk/typescript/src/index.ts';
import type { Passage } from './library.ts';

/** The same question of the service and of the records in memory, which must agree. */
interface Question {
  readonly about: string;
  readonly query: QueryEnvelope;
  readonly matches: (record: Passage) => boolean;
}

const questions: readonly Question[] = [
  {
    about: 'operations',
    query: { filter: { path: '/metadata/kind', value: 'operation' } },
    matches: ({ metadata }) => metadata.kind === 'operation',
  },
  {
    about: 'passages of 100 words and more, the longest first',
    query: {
      filter: {
        combine: 'all',
        children: [
          { path: '/metadata/kind', value: 'passage' },
          { path: '/metadata/words', op: 'gte', value: 100 },
        ],
      },
      orderBy: [{ path: '/metadata/words', direction: 'desc' }],
    },
    matches: ({ metadata }) => metadata.kind === 'passage' && metadata.words >= 100,
  },
  {
    // This path is not indexed: the service reads the records one by one, within a budget.
    about: 'texts with the word idempotency',
    query: { filter: { path: '/content/text', op: 'contains', value: 'idempotency' } },
    matches: ({ content }) => content.text.includes('idempotency'),
  },
];

const PAGE = 25;

/** Asks in pages and compares the answers with the data set. */
export async function ask(client: SvcClient, collection: string, records: readonly Passage[]): Promise<void> {
  for (const { about, query, matches } of questions) {
    const found: string[] = [];
    const words: number[] = [];
    let pages = 0;
    for await (const page of client.queryRecords(collection, { ...query, limit: PAGE }).pages()) {
      pages += 1;
      for (const { partitionKey, id, metadata } of page.items) {
        found.push(`${partitionKey} ${id}`);
        words.push(Number(metadata?.['words']));
      }
    }
    const expected = records.filter(matches).map(({ partitionKey, id }) => `${partitionKey} ${id}`);
    const isSame = expected.length === found.length && new Set([...expected, ...found]).size === found.length;
    if (!isSame) throw new Error(`${about}: found ${found.length} records and expected ${expected.length}`);
    const isOrdered = words.every((count, at) => at === 0 || count <= (words[at - 1] ?? 0));
    if (query.orderBy && !isOrdered)
      throw new Error(`${about}: the answers are not in the order of the query`);
    console.log(`Found ${found.length} ${about}, in ${pages} pages.`);
  }
}
