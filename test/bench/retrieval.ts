import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRecordParts } from '../../functions/collections/parts.ts';
import { serviceCollections } from '../../functions/compose/collections.ts';
import { machine } from '../../functions/compose/machine.ts';
import type { Embedder } from '../../functions/embeddings/embedder.ts';
import { createEmbeddingParts } from '../../functions/embeddings/text-vectors.ts';
import type { RetrievalParts } from '../../functions/retrieval/parts.ts';
import { localRerankers } from '../../functions/retrieval/reranker.fixture.ts';
import { retrieve } from '../../functions/retrieval/retrieve.ts';
import { envelopeJson } from '../../functions/retrieval/rules/envelope.ts';
import { readRetrieval } from '../../functions/retrieval/rules/request.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { createTraceParts } from '../../functions/traces/parts.ts';
import { measureBare } from './search-bare.ts';
import { FIELD, SearchTexts, SearchVectors } from './search-data.ts';
import { lexicalRequest, vectorRequest } from './search-own.ts';
import { pausesOf, SEARCH_LIMITS, SEARCH_SPACE, SearchPort } from './search-port.ts';
import { LEXICAL, SHAPE, TOP, timeCalls } from './search-task.ts';

const NAME = 'bench';
const CANDIDATES = 500;
const limits = { hybridP50Ms: 15 };

/** Words that half a percent of the records hold: about as many candidates as the vectors give. */
const SHARE = LEXICAL.candidatesHalfPercent;

/**
 * Hybrid retrievals at the port: 500 candidates by vectors, 500 by words, one list of 10. Beside them the two searches that
 * each of them makes, and the bare limit: brute force over float32 in memory, without words and records.
 */
export async function benchRetrieval(vectors: number, queries: number): Promise<object> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-retrieval-'));
  const task = {
    vectors,
    queries,
    singles: 0,
    folder,
    nearestFile: join(folder, 'nearest.json'),
    peers: folder,
  };
  try {
    const bare = await measureBare(task);
    const open = () =>
      openSqliteStore({
        path: join(folder, 'svc.sqlite'),
        ...machine,
        grouping: true,
        collections: serviceCollections,
      });
    await write(await open(), vectors);
    const store = await open();
    try {
      const results = await measure(store, queries);
      const sizes = { vectors, dimensions: SHAPE.dimensions, candidates: CANDIDATES, queries };
      return { bench: 'retrieval', ...sizes, limits, bare, ...results };
    } finally {
      await store.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function write(store: RecordStore, count: number): Promise<void> {
  const port = new SearchPort(store, NAME);
  await port.create(SHAPE);
  await port.load({ first: 0, count }, new SearchVectors(SHAPE), new SearchTexts());
  await store.close();
}

async function measure(store: RecordStore, queries: number): Promise<object> {
  const port = new SearchPort(store, NAME);
  const vectors = new SearchVectors(SHAPE);
  const texts = new SearchTexts();
  const parts = partsOver(store, vectors);
  const vectorOnly = await timeCalls(queries, async (n) => {
    const { vector } = vectorRequest(vectors.query(n), null);
    await port.search({ vector: { ...vector, top: CANDIDATES }, limit: TOP });
  });
  const words = await timeCalls(queries, async (n) => {
    const { lexical } = lexicalRequest(texts.query(SHARE, n));
    await port.search({ lexical: { ...lexical, top: CANDIDATES }, limit: TOP });
  });
  const ask = (n: number) => answered(parts, texts.query(SHARE, n), n);
  const hybrid = await timeCalls(queries, ask);
  const { pauses } = await pausesOf(async () => {
    for (let n = 0; n < queries; n += 1) await ask(n);
  });
  return { hybrid, vectorOnly, words, pauses };
}

/** A retrieval as a caller has it: the request is read, and the answer is text. */
async function answered(parts: RetrievalParts, query: string, n: number): Promise<void> {
  const retrieval = readRetrieval(
    {
      query,
      collections: [NAME],
      searchMode: 'hybrid',
      // Its own text, by which the embedder knows the vector.
      vectorFields: [{ field: FIELD, query: `query ${n}` }],
      hybrid: { vectorCandidateLimit: CANDIDATES, lexicalCandidateLimit: CANDIDATES },
      limit: TOP,
    },
    SEARCH_LIMITS.readsPerCallMax,
  );
  const { results, trace } = await retrieve(parts, SEARCH_SPACE, retrieval);
  if (results.length !== TOP) throw new Error(`the retrieval found ${results.length} records`);
  envelopeJson(query, results, trace);
}

/** The vectors of queries cost nothing here: they are those of the benchmark of searches. */
function partsOver(store: RecordStore, vectors: SearchVectors): RetrievalParts {
  const embedder: Embedder = {
    provider: 'bench',
    modelId: 'bench',
    dimensions: SHAPE.dimensions,
    prefixes: { query: null, passage: null, symmetric: null },
    isPaid: false,
    batch: { textsMax: 8, tokensMax: 8_000 },
    embed: (given) => Promise.resolve(given.map((text) => vectors.query(Number(text.split(' ')[1])))),
  };
  const open = () => Promise.resolve(store);
  const traceLimits = { readsPerCallMax: 1_000, answerBytesMax: 1_000_000, retentionMs: null };
  return {
    records: createRecordParts({ store: open, world: machine, limits: SEARCH_LIMITS }),
    embeddings: createEmbeddingParts({ store: open, embedder }),
    traces: createTraceParts({ store: open, world: machine, limits: traceLimits }),
    rerankers: localRerankers(machine.turns),
  };
}
