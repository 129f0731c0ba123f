import { randomUUID } from 'node:crypto';
import type { InjectedRequest, InjectedResponse } from '../../functions/http/host-inject.ts';
import type { Vocabulary } from './arbitrary.ts';
import type { Party } from './party.ts';
import { RecordSpace } from './record-space.ts';

/** Collections and records of a party, for requests that name them. */
export interface Records {
  /** A finished import job. */
  readonly jobId: string;
  /** A finished embedding job. */
  readonly embeddingJobId: string;
  /** A finished ingestion of the record's text. */
  readonly ingestionJobId: string;
  /** A finished evaluation, whose report has the text of the record. */
  readonly evaluationJobId: string;
  /** A finished import of a graph. */
  readonly graphJobId: string;
}

type Call = (request: InjectedRequest) => Promise<InjectedResponse>;

export const COLLECTION = 'articles';
/** The vector of the contract's example of a search. */
const VECTOR = { embedding: { values: [0.5, 0.25, 1] } };
export const POLICY = {
  name: COLLECTION,
  vectorPolicies: [{ name: 'embedding', path: '/vectors/embedding/values', dimensions: 3 }],
  indexedMetadata: ['/metadata/year'],
};
export const PARTITION = '2026';
/** Documents have the same id. */
export const RECORD = 'order-1001';

/** Where texts are ingested: its vectors have the length of those of the model. */
const LIBRARY = {
  name: 'library',
  vectorPolicies: [{ name: 'v', path: '/vectors/v/values', dimensions: 384 }],
};
const INGEST = `/collections/${LIBRARY.name}/rag/ingest-text`;
const documentOf = (mark: string) => ({ documentId: mark, partitionKey: PARTITION, text: `annual ${mark}` });
const EVALUATIONS = '/retrieval/evaluate/jobs';
const evaluationOf = (query: string, collection = COLLECTION) => ({
  cases: [{ request: { query, collections: [collection] }, expected: [{ id: RECORD }] }],
});

function spaceOf(call: Call, { headers, productId, tenantId }: Party): RecordSpace {
  return new RecordSpace(call, headers, `?${new URLSearchParams({ productId, tenantId }).toString()}`);
}

export const recordOf = ({ mark }: Party, id: string) => ({
  id,
  partitionKey: PARTITION,
  metadata: { year: 2026, mark },
  content: { text: `annual ${mark}` },
  vectors: VECTOR,
});

/** Two nodes and an edge, in a collection that is made for other records. */
const graphOf = (mark: string) => ({
  envelope: {
    scope: { graphId: 'people' },
    nodes: [
      { id: 'ada', type: 'person', label: mark },
      { id: 'bob', type: 'person' },
    ],
    edges: [{ id: 'ada-knows-bob', sourceId: 'ada', targetId: 'bob', predicate: 'knows' }],
  },
  allowNonGraphPolicy: true,
});

/** Gives the party a collection with a record and a finished job. */
export async function furnishRecords(call: Call, party: Party): Promise<Records> {
  const space = spaceOf(call, party);
  await space.create(POLICY);
  const path = `/collections/${COLLECTION}/records/batch`;
  const jobId = await space.admit('POST', path, { records: [recordOf(party, RECORD)] });
  await space.settled(jobId);
  const embeddingJobId = await space.admit('POST', '/embeddings/jobs', { texts: [party.mark] });
  await space.settled(embeddingJobId);
  await space.create(LIBRARY);
  const ingestionJobId = await space.admit('POST', INGEST, documentOf(party.mark));
  await space.settled(ingestionJobId);
  const evaluationJobId = await space.admit('POST', EVALUATIONS, evaluationOf(party.mark));
  await space.settled(evaluationJobId);
  const graphJobId = await space.admit(
    'POST',
    `/collections/${COLLECTION}/graph/import`,
    graphOf(party.mark),
  );
  await space.settled(graphJobId);
  return { jobId, embeddingJobId, ingestionJobId, evaluationJobId, graphJobId };
}

/** Gives the party `count` more records and some more jobs. */
export async function growRecords(call: Call, party: Party, count: number): Promise<void> {
  const space = spaceOf(call, party);
  const path = `/collections/${COLLECTION}/records/batch`;
  for (let made = 0; made < count; made += 20) {
    const ids = Array.from({ length: Math.min(20, count - made) }, () => randomUUID());
    await space.settled(await space.admit('POST', path, { records: ids.map((id) => recordOf(party, id)) }));
  }
}

/** Makes a collection with a record and a finished job, and gives the words that requests about them are drawn from. */
export async function furnishRecordWords(call: Call, collection: string): Promise<Vocabulary> {
  const space = new RecordSpace(call);
  await space.create({ ...POLICY, name: collection });
  const record = {
    id: RECORD,
    partitionKey: PARTITION,
    metadata: { year: 2026 },
    content: { text: `annual ${collection}`, title: 'climate report' },
    vectors: VECTOR,
  };
  const jobId = await space.admit('POST', `/collections/${collection}/records/batch`, { records: [record] });
  await space.settled(jobId);
  const embeddingJobId = await space.admit('POST', '/embeddings/jobs', { texts: [collection] });
  await space.settled(embeddingJobId);
  const ingestionJobId = await space.admit(
    'POST',
    `/collections/${collection}/rag/ingest-text`,
    documentOf(collection),
  );
  await space.settled(ingestionJobId);
  const evaluationJobId = await space.admit('POST', EVALUATIONS, evaluationOf('annual', collection));
  await space.settled(evaluationJobId);
  const graphJobId = await space.admit(
    'POST',
    `/collections/${collection}/graph/import`,
    graphOf(collection),
  );
  await space.settled(graphJobId);
  return new Map([
    ['collection', [collection]],
    ['pk', [PARTITION]],
    ['partitionKey', [PARTITION]],
    ['id', [RECORD]],
    ['collections', [collection]],
    ['jobId', [jobId, embeddingJobId, ingestionJobId, evaluationJobId, graphJobId]],
    ['startNodeIds', ['ada']],
    ['field', ['embedding']],
    ['query', ['annual "climate report"']],
  ]);
}

/** Has a built-in provider rank by a job, and gives the words that requests about them and its trace are drawn from. */
export async function furnishProviderWords(call: Call): Promise<Vocabulary> {
  const provider = 'local-token-overlap-reranker';
  const space = new RecordSpace(call);
  const candidates = [{ id: 'a', text: 'annual report' }];
  const run = { capability: 'ai.rerank', payload: { query: 'annual', candidates, limit: 1 } };
  const jobId = await space.admit('POST', `/providers/${provider}/jobs`, run);
  await space.settled(jobId);
  const { text } = await space.send('GET', `/provider-jobs/${jobId}`);
  const { traceId } = JSON.parse(text) as { traceId: string };
  return new Map([
    ['provider', [provider]],
    ['jobId', [jobId]],
    ['id', [traceId]],
  ]);
}
