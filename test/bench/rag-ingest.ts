import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRecordParts } from '../../functions/collections/parts.ts';
import { createCollection } from '../../functions/collections/pointers.ts';
import { readPolicy } from '../../functions/collections/rules/policy.ts';
import { serviceCollections } from '../../functions/compose/collections.ts';
import { machine } from '../../functions/compose/machine.ts';
import { builtInEmbedder } from '../../functions/embeddings/built-in.ts';
import { createEmbeddingParts, textVectors } from '../../functions/embeddings/text-vectors.ts';
import { ingestDocument } from '../../functions/rag/ingest.ts';
import { readDocument } from '../../functions/rag/rules/ingest-document.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { type Measurement, measure, medianNumber, medianOf, round } from './load.ts';
import { BareRecords } from './records-bare.ts';

const SPACE = 'default';
const CHUNKS = 50;
const DIMENSIONS = 384;
const LIMITS = { readsPerCallMax: 200_000, pageRecordsMax: 5_000, answerBytesMax: 64 * 1024 * 1024 };
const POLICY = readPolicy({
  name: 'bench',
  vectorPolicies: [{ name: 'v', path: '/vectors/v/values', dimensions: DIMENSIONS }],
});
const WORDS = 'a backend keeps canonical data and runs durable work while readers ask for more of it'.split(
  ' ',
);

/** Each sentence is one chunk. */
function sentence(n: number): string {
  const words = Array.from({ length: 150 }, (_, at) => WORDS[(n * 7 + at * (1 + (n % 5))) % WORDS.length]);
  return `Passage ${n}: ${words.join(' ')}.`;
}

/**
 * Chunks a second of documents that are ingested into SQLite: cut, planned, embedded by the model of the service and written, one
 * document a transaction; beside the model alone, and beside the model and `node:sqlite` alone writing the same rows.
 */
export async function measureIngest(seconds: number, rounds: number): Promise<object> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-rag-'));
  const path = join(folder, 'svc.sqlite');
  const store = await openSqliteStore({ path, ...machine, grouping: true, collections: serviceCollections });
  const open = () => Promise.resolve(store);
  const records = createRecordParts({ store: open, world: machine, limits: LIMITS });
  const embedder = builtInEmbedder('local-token-hash', DIMENSIONS);
  if (embedder === null) throw new Error('the model is part of the service');
  const { signal } = new AbortController();
  const embed = async (texts: readonly string[]) => {
    const call = { purpose: 'passage', signal, space: SPACE } as const;
    const vectors = await textVectors(createEmbeddingParts({ store: open, embedder }), texts, call);
    return texts.map((text) => vectors.get(text) ?? new Float32Array());
  };
  let made = 0;
  const textsOf = () => Array.from({ length: CHUNKS }, () => sentence(made++));
  const ingest = async () => {
    const options = { chunkChars: 1_200, chunkOverlapChars: 0, persistManifest: true };
    const text = textsOf().join('\n\n');
    const document = readDocument(JSON.stringify({ partitionKey: 'p', text, options }), POLICY, embedder);
    const { written } = await ingestDocument(records, SPACE, document, { embed });
    if (written?.stamps.length !== CHUNKS + 1) throw new Error('a document was not written whole');
  };
  try {
    await createCollection(records, SPACE, POLICY);
    for (let n = 0; n < 4; n += 1) await ingest();
    const bare = await BareRecords.open(join(folder, 'bare.sqlite'), path, CHUNKS * 4);
    const ways: Readonly<Record<'ingest' | 'model' | 'bare', () => Promise<unknown>>> = {
      ingest,
      model: () => embed(textsOf()),
      bare: async () => {
        await embed(textsOf());
        bare.write(CHUNKS + 1);
      },
    };
    const figures: Record<keyof typeof ways, Measurement[]> = { ingest: [], model: [], bare: [] };
    const ratios: number[] = [];
    for (let n = 0; n < rounds; n += 1) {
      for (const name of ['bare', 'ingest', 'model'] as const) {
        const call = async () => void (await ways[name]());
        figures[name].push(await measure({ clients: 1, seconds, warmupSeconds: 0.3, call }));
      }
      ratios.push((figures.ingest[n]?.perSecond ?? 0) / (figures.bare[n]?.perSecond ?? Number.NaN));
    }
    bare.close();
    const chunks = (name: keyof typeof ways) => {
      const { perSecond, ...times } = medianOf(figures[name]);
      return { chunksPerSecond: round(perSecond * CHUNKS), ...times };
    };
    return {
      measures: {
        ingest: `documents of ${CHUNKS} chunks of 150 words, cut, planned, embedded (${DIMENSIONS} numbers) and written, one at a time`,
        model: 'the model of the service alone over the same texts',
        bare: 'the same model, and node:sqlite alone writing the same rows, as many in a transaction, flushed to disk',
        ofBare: 'rate of ingest beside bare in the same round',
      },
      ingest: chunks('ingest'),
      model: chunks('model'),
      bare: chunks('bare'),
      ofBare: round(medianNumber(ratios)),
    };
  } finally {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
}
