import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type {
  RetrievalEvaluationComparisonRequest,
  RetrievalEvaluationComparisonResult,
  SvcClient,
} from '../../sdk/typescript/src/index.ts';
import { done, written } from './jobs.ts';
import { operationsOf } from './library.ts';

const OPERATIONS = 'operations';
const DIMENSIONS = 384;

/** Which questions are asked, what is right, and which two profiles answer them. */
export const comparison = JSON.parse(
  readFileSync(join(import.meta.dirname, 'files/evaluation.json'), 'utf8'),
) as RetrievalEvaluationComparisonRequest;

/** Loads the operations of the release 0.5.0, which never change, with their vectors. */
export async function loadOperations(client: SvcClient, root: string): Promise<void> {
  const vectorPolicies = [
    { name: 'contentEmbedding', path: '/vectors/contentEmbedding/values', dimensions: DIMENSIONS },
  ];
  const policy = { name: OPERATIONS, vectorPolicies };
  await done(client, await client.createCollection(policy, {}, { idempotencyKey: 'create-operations' }));
  const operations = operationsOf(root);
  const texts = operations.map(({ text }) => text);
  const { items } = await client.embedTexts({ texts, purpose: 'passage' });
  const records = operations.map(({ title, text }, at) => ({
    id: title,
    partitionKey: OPERATIONS,
    type: 'operation',
    metadata: { title },
    content: { text },
    vectors: { contentEmbedding: { values: items[at]?.values ?? [] } },
  }));
  const options = { idempotencyKey: 'operations' };
  const job = await client.startRecordBatchUpsertJob(OPERATIONS, { records }, {}, options);
  await written(client, job, () => undefined);
}

/** Compares two profiles by a job and by a call. Fewer than all questions are for a slow database. */
export async function evaluate(
  client: SvcClient,
  root: string,
  questions = comparison.cases.length,
): Promise<RetrievalEvaluationComparisonResult> {
  await loadOperations(client, root);
  const asked = { ...comparison, cases: comparison.cases.slice(0, questions) };
  const options = { idempotencyKey: 'comparison' };
  const job = await client.startRetrievalEvaluationComparisonJob(asked, {}, options);
  const ended = await client.waitForRetrievalEvaluationJob(job.id, { waitTimeout: 600_000 });
  const report = ended?.result ?? null;
  if (report === null) throw new Error(`the comparison ${job.id} is ${ended?.status ?? 'gone'}`);
  const direct = await client.compareRetrievalEvaluations(asked);
  if (measuresOf(direct) !== measuresOf(report))
    throw new Error('the job measured something else than the call');
  for (const { id, metrics } of report.variants)
    console.log(`${id}: hit rate ${share(metrics.hitRate)}, nDCG ${share(metrics.meanNdcgAtK)}.`);
  await done(client, await client.deleteCollection(OPERATIONS));
  return report;
}

function measuresOf({ variants }: RetrievalEvaluationComparisonResult): string {
  return JSON.stringify(variants.map(({ id, metrics }) => [id, metrics]));
}

function share(value: number): string {
  return value.toFixed(2);
}
