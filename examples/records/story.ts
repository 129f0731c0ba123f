import { NotFoundError, SvcClient } from '../../sdk/typescript/src/index.ts';
import { progress } from '../claims/progress.ts';
import { deleteFiles, ingestFiles } from './artifacts.ts';
import { embed } from './embeddings.ts';
import { evaluate } from './evaluate.ts';
import { chartOf } from './evaluation-chart.ts';
import { done, written } from './jobs.ts';
import type { Edition, Passage } from './library.ts';
import { load } from './load.ts';
import { ask } from './questions.ts';
import { Readers, readsOf } from './readers.ts';
import { search } from './searches.ts';
import { topics } from './topics.ts';

export interface Plan {
  readonly address: string;
  readonly editions: Readonly<Record<Edition, readonly Passage[]>>;
  readonly clients: number;
  /** The folder of the project. */
  readonly root: string;
  /** How many questions the evaluation asks; all where it is absent. */
  readonly questions?: number;
  /** How long a call may take, in milliseconds; the default of the client where it is absent. */
  readonly timeout?: number;
  /** Where the picture of the evaluation goes. */
  readonly showChart: (svg: string) => Promise<void>;
}

const COLLECTION = 'library';

/** Queries find records by these paths without reading the others, and searches compare this vector. */
const policy = {
  name: COLLECTION,
  indexedMetadata: ['/metadata/edition', '/metadata/kind', '/metadata/sample', '/metadata/words'],
  vectorPolicies: [{ name: 'topics', path: '/vectors/topics/values', dimensions: topics.length }],
};

/** Files and passages with the vectors of a model. The built-in one gives vectors of 384 numbers. */
const MEANINGS = 'meanings';
const meaningPolicy = {
  name: MEANINGS,
  vectorPolicies: [{ name: 'meaning', path: '/vectors/meaning/values', dimensions: 384 }],
};

/** The steps of the example. Throws at the first broken promise. */
export async function play(plan: Plan): Promise<void> {
  const { address, editions, clients, root, questions, timeout, showChart } = plan;
  const clientOf = () => new SvcClient({ baseUrl: address, timeout });
  const client = clientOf();
  await done(client, await client.createCollection(policy, {}, { idempotencyKey: 'create' }));
  console.log(`The collection ${COLLECTION} exists: ${(await client.listCollections()).join(', ')}.`);

  const first = editions[1];
  const loaders = Array.from({ length: clients }, clientOf);
  const loading = await timed(() => load(loaders, COLLECTION, first, progress('loading', first.length)));
  console.log(`${clients} clients loaded ${rate(first.length, loading)}.`);
  await ask(client, COLLECTION, first);
  await search(client, COLLECTION, first);
  await understand(client, first);
  await showChart(chartOf(await evaluate(client, root, questions)));
  await replace(clientOf, editions);

  await done(client, await client.deleteCollection(COLLECTION));
  const gone = await client.queryRecords(COLLECTION).then(
    () => false,
    (error: unknown) => error instanceof NotFoundError,
  );
  if (!gone) throw new Error('a query found the deleted collection');
  console.log('The collection is deleted, and no query finds it.');
}

/** Files with their records, and a search by what texts mean. */
async function understand(client: SvcClient, records: readonly Passage[]): Promise<void> {
  await done(client, await client.createCollection(meaningPolicy, {}, { idempotencyKey: 'create-meanings' }));
  await ingestFiles(client, MEANINGS);
  await embed(client, MEANINGS, records);
  await done(client, await client.deleteCollection(MEANINGS));
  await deleteFiles(client);
}

/** Replaces the first edition by the second one while readers read. */
async function replace(clientOf: () => SvcClient, editions: Plan['editions']): Promise<void> {
  const client = clientOf();
  const reads = readsOf(COLLECTION, editions);
  const all = [...reads, ...reads.slice(0, 1)].map((read) => ({ ...read }));
  const readers = new Readers(all, clientOf);
  const second = editions[2];
  const request = { snapshot: { policy, records: second }, replaceExisting: true };
  const options = { idempotencyKey: 'second-edition' };
  const importing = async () => {
    await readers.haveSeen(1, all);
    const job = await client.startCollectionImportJob(COLLECTION, request, {}, options);
    await written(client, job, progress('replacing', second.length));
    await readers.haveSeen(2, all);
    const again = await client.startCollectionImportJob(COLLECTION, request, {}, options);
    if (again.id !== job.id || !again.admission.replayed)
      throw new Error('the same key began another import');
  };
  let replacing = 0;
  try {
    replacing = await timed(importing);
  } finally {
    await readers.stop();
  }
  const { reads: counts, faults } = readers.seen;
  for (const fault of new Set(faults)) console.error(`broken promise: ${fault}`);
  if (faults.length > 0) throw new Error(`${faults.length} reads saw neither edition whole`);
  console.log(`Edition 2 replaced edition 1: ${rate(second.length, replacing)}.`);
  console.log(
    `${all.length} readers saw edition 1 ${counts[1]} times and then edition 2 ${counts[2]} times, each time whole.`,
  );
}

async function timed(act: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await act();
  return (performance.now() - startedAt) / 1_000;
}

function rate(records: number, seconds: number): string {
  return `${records} records in ${seconds.toFixed(1)} s (${Math.round(records / seconds)} a second)`;
}
