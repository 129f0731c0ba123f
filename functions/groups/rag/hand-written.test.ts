import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RagContextEvaluationResult, RagIngestTextResult } from '../../../contracts/generated/models.ts';
import { RecordSpace } from '../../../test/security/record-space.ts';
import { type RunningService, startService } from '../../../test/support/service.ts';

/** Odd values and long names in a request break no answer. Every answer is checked against its model. */

let service: RunningService;
beforeAll(async () => {
  service = await startService();
  const vectorPolicies = [{ name: 'v', path: '/vectors/v/values', dimensions: 384 }];
  await new RecordSpace(service.call).create({ name: 'docs', vectorPolicies });
});
afterAll(() => service.close());

const post = (path: string, body: object) => service.call({ method: 'POST', path, headers: {}, body });

test.each([-7.5, 1e300, 'one'])(
  'a chunk with the index %s is replaced as one without an index',
  async (chunkIndex) => {
    const documentId = `d${chunkIndex}`;
    const record = {
      id: documentId,
      partitionKey: 'p',
      type: 'rag.chunk',
      metadata: { documentId, chunkIndex },
      content: { text: 'k' },
    };
    expect((await post('/collections/docs/records', record)).status).toBe(201);
    const options = { dryRun: true, replaceDocumentChunks: true };
    const planned = await post('/collections/docs/rag/ingest-text', {
      documentId,
      partitionKey: 'p',
      text: 'Hello.',
      options,
    });
    expect(planned.status, planned.body).toBe(200);
    const { staleDeletes } = planned.json<RagIngestTextResult>();
    expect(staleDeletes.map(({ chunkIndex: shown }) => shown)).toEqual([null]);
  },
);

test('the name of a case is cut to what an answer shows', async () => {
  const retrieval = { query: 'k', collections: ['docs'] };
  const body = { cases: [{ request: { retrieval }, metadata: { queryId: 'x'.repeat(60_000) } }] };
  const answer = await post('/rag/context/evaluate', body);
  expect(answer.status, answer.body.slice(0, 300)).toBe(200);
  expect(answer.json<RagContextEvaluationResult>().cases[0]?.queryId).toBe('x'.repeat(2_048));
});
