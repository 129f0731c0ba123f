import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { VECTORS } from './service-cases.ts';
import { createCollection, IDENTITY, type McpService, startMcpService } from './service-stage.ts';
import { bodyOf, fieldsOf, META, messagesOf } from './support.ts';

/** The bytes of default answers of searches, as the wire carries them. */

const headers = { [IDENTITY]: 'writer' };
const PARAGRAPH =
  'The late fee of an invoice is due after thirty days, unless the contract names another time. ';
/** As long as a chunk is by default. */
const TEXT = PARAGRAPH.repeat(12);

let service: McpService;

beforeAll(async () => {
  service = await startMcpService();
  const vectorPolicies = [{ name: 'meaning', path: '/vectors/meaning/values', dimensions: 384 }];
  await createCollection(service, 'writer', VECTORS, { vectorPolicies });
  const items = Array.from({ length: 24 }, (_, at) => ({
    partitionKey: 'manuals',
    documentId: `contract-${at}`,
    text: `Part ${at}. ${TEXT}`,
    sourceUri: `https://files.example/contracts/contract-${at}.pdf`,
    sourceLabel: `Contract ${at}`,
    metadata: { year: 2000 + at, kind: 'contract' },
  }));
  const started = await service.call({
    method: 'POST',
    path: `/collections/${VECTORS}/rag/ingest-text/batch/jobs`,
    headers,
    body: { items },
  });
  const path = started.headers['location'] ?? '';
  for (;;) {
    const job = await service.call({ method: 'GET', path, headers });
    const { status } = job.json<{ status: string }>();
    if (status === 'succeeded') break;
    if (!['queued', 'running'].includes(status)) throw new Error(job.body);
    await new Promise((resolve) => setImmediate(resolve));
  }
});

afterAll(() => service.close());

async function answerOf(name: string, given: object): Promise<{ bytes: number; result: unknown }> {
  const params = { _meta: META, name, arguments: given };
  const response = await service.send({
    body: bodyOf('tools/call', params),
    headers: { ...fieldsOf('tools/call', params), ...headers },
  });
  const result = messagesOf(response).at(-1)?.['result'];
  return { bytes: Buffer.byteLength(response.body), result };
}

describe('ten hits of a search over chunks with 384 numbers fit 12,000 bytes', () => {
  const question = { query: 'When is a late fee due?' };
  const retrieve = (searchMode: string) =>
    ['svc_retrieval_retrieve_v1', 'results', { ...question, searchMode, collections: [VECTORS] }] as const;
  test.each<readonly [name: string, list: string, given: object]>([
    ['svc_records_search_v1', 'items', { ...question, collection: VECTORS }],
    retrieve('lexical'),
    retrieve('vector'),
    retrieve('hybrid'),
  ])('%s: %s of %j', async (name, list, given) => {
    const { bytes, result } = await answerOf(name, given);
    const { structuredContent } = result as { structuredContent: Record<string, readonly unknown[]> };
    expect(structuredContent[list], JSON.stringify(result)).toHaveLength(10);
    expect(bytes).toBeLessThanOrEqual(12_000);
    // The ids and the texts are there.
    expect(JSON.stringify(structuredContent[list]?.[0])).toMatch(/"documentId":.*late fee/);
  });
});
