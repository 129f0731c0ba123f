import { expect } from 'vitest';
import type { RunningService } from './service.ts';

/** Collections of a running service whose records have texts and vectors, for tests of retrievals. */

const NOTES = [
  { id: 'fox', text: 'the brown fox runs', title: 'Fox' },
  { id: 'river', text: 'a river and its bank', title: 'River' },
  { id: 'both', text: 'the fox at the river', title: 'Fox and river' },
] as const;

const DIMENSIONS = 384;

export async function createNotes(service: RunningService, name = 'notes'): Promise<void> {
  const vectorPolicies = ['contentEmbedding', 'titleEmbedding'].map((vector) => ({
    name: vector,
    path: `/vectors/${vector}/values`,
    dimensions: DIMENSIONS,
    distanceFunction: 'cosine',
  }));
  await settled(service, '/collections', { name, vectorPolicies });
  const texts = NOTES.flatMap(({ text, title }) => [text, title]);
  const embedded = await service.call({ method: 'POST', path: '/embeddings', body: { texts } });
  const { items } = embedded.json<{ items: readonly { values: readonly number[] }[] }>();
  const vectorOf = (at: number) => ({ values: items[at]?.values ?? [] });
  const records = NOTES.map(({ id, text, title }, at) => ({
    id,
    partitionKey: 'p',
    type: 'note',
    content: { text },
    metadata: { title },
    vectors: { contentEmbedding: vectorOf(2 * at), titleEmbedding: vectorOf(2 * at + 1) },
  }));
  await settled(service, `/collections/${name}/records/batch`, { records });
}

/** The job or the run that a request admits, once it has succeeded. */
async function settled(service: RunningService, path: string, body: object): Promise<void> {
  const answer = await service.call({ method: 'POST', path, body });
  expect(answer.status, answer.body).toBe(202);
  const { id } = answer.json<{ id: string }>();
  for (;;) {
    const run = await service.call({ method: 'GET', path: `/execution/runs/${id}?waitSeconds=20` });
    const { status } = run.json<{ status: string }>();
    if (['queued', 'running', 'waiting'].includes(status)) continue;
    expect(status, run.body).toBe('succeeded');
    return;
  }
}
