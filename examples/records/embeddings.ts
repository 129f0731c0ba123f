import type { SvcClient, SvcRecordInput } from '../../sdk/typescript/src/index.ts';
import { FILES_PARTITION, files } from './artifacts.ts';
import { done, written } from './jobs.ts';
import type { Passage } from './library.ts';
import { likeness } from './topics.ts';

/** The most texts that a job embeds. */
const TEXTS_MAX = 128;
const NEAREST = 3;
const QUESTION = 'How long does a worker hold the lease of a run?';

interface Text {
  readonly record: SvcRecordInput;
  readonly text: string;
}

/** Embeds passages and the records of the files by a job, writes their vectors, and searches by the vector of a question. */
export async function embed(
  client: SvcClient,
  collection: string,
  records: readonly Passage[],
): Promise<void> {
  const texts = [...(await textsOfFiles(client, collection)), ...textsOf(records)].slice(0, TEXTS_MAX);
  const vectors = await vectorsOf(client, texts);
  const embedded = texts.map(({ record }, at) => ({
    ...record,
    vectors: { meaning: { values: vectors[at] ?? [] } },
  }));
  const options = { idempotencyKey: 'meanings' };
  const job = await client.startRecordBatchUpsertJob(collection, { records: embedded }, {}, options);
  await written(client, job, () => undefined);
  console.log(`A job embedded ${texts.length} texts, and their vectors are written.`);
  await searchMeaning(client, collection, embedded);
}

/** Passages of prose, the longest first: they have the most to say. */
function textsOf(records: readonly Passage[]): Text[] {
  return records
    .filter(({ metadata }) => metadata.kind === 'passage')
    .sort((left, right) => right.metadata.words - left.metadata.words)
    .map(({ id, partitionKey, content }) => ({
      record: { id, partitionKey, type: 'passage', content },
      text: `${content.title}\n${content.text}`,
    }));
}

async function textsOfFiles(client: SvcClient, collection: string): Promise<Text[]> {
  return Promise.all(
    files.map(async ({ name, title, text }) => {
      const found = await client.getRecord(collection, FILES_PARTITION, name);
      if (found === null) throw new Error(`the record of ${name} is missing`);
      const { id, partitionKey, type, content } = found;
      return { record: { id, partitionKey, type, content }, text: `${title}\n${text}` };
    }),
  );
}

async function vectorsOf(client: SvcClient, texts: readonly Text[]): Promise<readonly (readonly number[])[]> {
  const request = { texts: texts.map(({ text }) => text), purpose: 'passage' };
  // With the key a repeat answers the first job, which embeds no text twice.
  const job = await client.startEmbeddingJob(request, {}, { idempotencyKey: 'embed' });
  await done(client, job);
  const ended = await client.getEmbeddingJob(job.id);
  const items = ended?.result?.items ?? [];
  if (items.length !== texts.length)
    throw new Error(`the job embedded ${items.length} of ${texts.length} texts`);
  return items.map(({ values }) => values);
}

/** Asks with the vector of a question, of the same model, and compares the answer with the vectors that were written. */
async function searchMeaning(
  client: SvcClient,
  collection: string,
  embedded: readonly (SvcRecordInput & {
    readonly vectors: { readonly meaning: { readonly values: readonly number[] } };
  })[],
): Promise<void> {
  const {
    items: [asked],
  } = await client.embedTexts({ text: QUESTION, purpose: 'query' });
  if (asked === undefined) throw new Error('the question has no vector');
  const value = [...asked.values];
  const { items } = await client.searchRecords(collection, {
    vector: { field: 'meaning', value, top: NEAREST },
  });
  const likest = embedded
    .map(({ vectors }) => likeness(vectors.meaning.values, value))
    .sort((left, right) => right - left);
  const isNearest = items.every(({ score }, at) => Math.abs(score - (likest[at] ?? 0)) < 1e-6);
  if (!isNearest || items.length !== NEAREST)
    throw new Error('the records that are nearest to the question are others');
  const titles = items.map(({ record }) => (record.content as Passage['content']).title);
  console.log(`Nearest to "${QUESTION}" are "${titles.join('", "')}".`);
}
