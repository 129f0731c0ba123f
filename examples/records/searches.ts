import type { QueryEnvelope, SvcClient } from '../../sdk/typescript/src/index.ts';
import type { Passage } from './library.ts';
import { likeness } from './topics.ts';

/** A search by words, and which records of the data set it must find. */
interface WordSearch {
  readonly about: string;
  readonly request: QueryEnvelope;
  readonly finds: (record: Passage) => boolean;
}

/** More than any of these searches finds. */
const top = 1_000;
const pages = ['docs/maintenance.md', 'docs/faq.md', 'docs/glossary.md'];

const searches: readonly WordSearch[] = [
  {
    about: 'texts with the phrase "idempotency key"',
    request: { lexical: { query: '"idempotency key"', top } },
    finds: ({ content }) => Object.values(content).some((text) => holds(text, ['idempotency', 'key'])),
  },
  {
    about: 'texts with a word that begins with idempot',
    request: { lexical: { query: 'idempot', prefixMatching: true, top } },
    finds: ({ content }) => Object.values(content).some((text) => /(?<![\p{L}\p{Nd}])idempot/iu.test(text)),
  },
  {
    about: `texts of ten words and more with lease or worker, on ${pages.length} pages`,
    request: {
      lexical: { query: 'lease worker', fields: ['/content'], top },
      partitionKeys: pages,
      filter: { path: '/metadata/words', op: 'gte', value: 10 },
    },
    finds: ({ partitionKey, metadata, content }) =>
      pages.includes(partitionKey) &&
      metadata.words >= 10 &&
      ['lease', 'worker'].some((word) => Object.values(content).some((text) => holds(text, [word]))),
  },
];

/** Searches by words and by a vector, and compares the answers with the data set. */
export async function search(
  client: SvcClient,
  collection: string,
  records: readonly Passage[],
): Promise<void> {
  for (const each of searches) await searchWords(client, collection, records, each);
  await searchLike(client, collection, records);
  await findOwnWrite(client, collection);
}

async function searchWords(
  client: SvcClient,
  collection: string,
  records: readonly Passage[],
  { about, request, finds }: WordSearch,
): Promise<void> {
  const scores = new Map<string, number>();
  for await (const { record, score } of client.searchRecords(collection, { ...request, limit: 100 }))
    scores.set(record.id, score);
  const expected = records.filter(finds).map(({ id }) => id);
  if (expected.length !== scores.size || !expected.every((id) => scores.has(id)))
    throw new Error(`${about}: found ${scores.size} records and expected ${expected.length}`);
  mustFall([...scores.values()], about);
  console.log(`Found ${scores.size} ${about}, the best first.`);
}

const NEAREST = 5;

/** Asks for the operations that are nearest to a passage: those that speak of the same topics. */
async function searchLike(client: SvcClient, collection: string, records: readonly Passage[]): Promise<void> {
  const passages = records.filter(({ metadata }) => metadata.kind === 'passage');
  const asked = passages.reduce((most, each) => (each.metadata.words > most.metadata.words ? each : most));
  const value = vectorOf(asked);
  if (value === null) throw new Error(`the passage ${asked.id} speaks of no topic`);
  const { items } = await client.searchRecords(collection, {
    vector: { field: 'topics', value: [...value], top: NEAREST },
    filter: { path: '/metadata/kind', value: 'operation' },
  });
  const expected = records
    .flatMap((record) => {
      const vector = record.metadata.kind === 'operation' ? vectorOf(record) : null;
      return vector === null ? [] : [{ id: record.id, score: likeness(vector, value) }];
    })
    .sort((a, b) => b.score - a.score);
  const known = new Map(expected.map(({ id, score }) => [id, score]));
  const isNearest = items.every(
    ({ record, score }, at) => isSame(score, expected[at]?.score) && isSame(score, known.get(record.id)),
  );
  if (!isNearest || items.length !== Math.min(NEAREST, expected.length))
    throw new Error(`the operations that are nearest to ${asked.id} are others`);
  const names = items.map(({ record }) => (record.content as Passage['content']).title);
  console.log(`Nearest to "${asked.content.title}" are the operations ${names.join(', ')}.`);
}

function vectorOf({ vectors }: Passage): readonly number[] | null {
  return vectors?.topics.values ?? null;
}

/** A write is found by the search after it, and a deleted record by none. */
async function findOwnWrite(client: SvcClient, collection: string): Promise<void> {
  const word = 'quokka';
  const count = async () =>
    (await client.searchRecords(collection, { lexical: { query: word } })).items.length;
  await client.upsertRecord(collection, { partitionKey: 'own', id: 'own', content: { text: word } });
  const written = await count();
  await client.deleteRecord(collection, 'own', 'own');
  const deleted = await count();
  if (written !== 1 || deleted !== 0) throw new Error('a search did not see the write before it');
  console.log('A search found a record right after its write, and not after its deletion.');
}

/** Whether the words stand side by side in the text. */
function holds(text: string, words: readonly string[]): boolean {
  const all = text.toLowerCase().match(/[\p{L}\p{Nd}]+/gu) ?? [];
  return all.some((_, at) => words.every((word, offset) => all[at + offset] === word));
}

function mustFall(scores: readonly number[], about: string): void {
  const falls = scores.every((score, at) => score > 0 && score <= (scores[at - 1] ?? 1));
  if (!falls) throw new Error(`${about}: the answers are not in the order of their scores`);
}

/** The service keeps scores as float32. */
function isSame(score: number, expected: number | undefined): boolean {
  return expected !== undefined && Math.abs(score - expected) < 1e-6;
}
