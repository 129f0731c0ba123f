import { SvcClient } from '../../sdk/typescript/src/index.ts';
import { answer } from './answer.ts';
import { edited, type Page } from './documents.ts';
import { COLLECTION, ingestEdited, ingestPages } from './ingest.ts';

export interface Plan {
  readonly address: string;
  readonly pages: readonly Page[];
  readonly questions: readonly string[];
  /** `null`: the answers are sentences of the documents. */
  readonly provider: string | null;
}

/** The built-in model of the service gives vectors of 384 numbers. */
const policy = {
  name: COLLECTION,
  vectorPolicies: [{ name: 'meaning', path: '/vectors/meaning/values', dimensions: 384 }],
};
const EDITED = 'docs/collections.md';
const SENTENCE = 'The glockenspiel of the release rings at noon.';

/** The steps of the example. Throws at the first broken promise. */
export async function play({ address, pages, questions, provider }: Plan): Promise<void> {
  const client = new SvcClient({ baseUrl: address });
  const { status } = await client.waitForExecutionRun((await client.createCollection(policy)).id);
  if (status !== 'succeeded') throw new Error('the collection was not created');
  const { documents, chunks, generated } = await ingestPages(client, pages, 'first');
  console.log(`Ingested ${documents} pages as ${chunks} chunks, with ${generated} vectors of the model.`);
  for (const question of questions) await ask(client, question, provider);
  await edit(client, pages);
}

async function ask(client: SvcClient, question: string, provider: string | null): Promise<void> {
  const { text, cited, context, model } = await answer(client, question, provider);
  console.log(`\nQuestion: ${question}`);
  console.log(`Context:\n${context.map((line) => `  ${line}`).join('\n')}`);
  console.log(`Answer${model === null ? '' : ` of ${model.provider}`}: ${text}`);
  for (const [id, source] of cited) console.log(`  [${id}] ${source}`);
  if (model === null && cited.size === 0) throw new Error('an answer cites nothing');
}

/** One page is edited, and all pages are ingested again: only what has changed is touched. */
async function edit(client: SvcClient, pages: readonly Page[]): Promise<void> {
  const page = pages.find(({ path }) => path === EDITED) ?? pages[0];
  if (page === undefined) return;
  const result = await ingestEdited(client, edited(page, SENTENCE));
  const { chunkCount, vectorGeneratedCount, vectorReusedCount } = result;
  console.log(
    `\nEdited ${page.path}: of its ${chunkCount} chunks the model embedded ${vectorGeneratedCount}, and ${vectorReusedCount} kept their vectors.`,
  );
  const others = pages.filter(({ path }) => path !== page.path);
  const again = await ingestPages(client, others, 'again');
  console.log(
    `The other ${again.documents} pages again: ${again.untouched} of ${again.chunks} chunks stayed as they were, and the model made ${again.generated} vectors.`,
  );
  if (again.untouched !== again.chunks || vectorGeneratedCount >= chunkCount)
    throw new Error('more than the edited chunks was touched');
  const found = await answer(client, 'When does the glockenspiel ring?', null);
  if (!found.text.includes('noon')) throw new Error('the new sentence is not found');
  console.log(`Asked about the new sentence: ${found.text}`);
}
