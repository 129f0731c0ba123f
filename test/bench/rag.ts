import { readPolicy } from '../../functions/collections/rules/policy.ts';
import { cutDocument } from '../../functions/rag/rules/cut-document.ts';
import { readDocument } from '../../functions/rag/rules/ingest-document.ts';
import { planIngestion } from '../../functions/rag/rules/plan.ts';
import { RequestRecords } from '../../functions/rag/rules/plan-chunks.ts';
import { storedChunks } from '../../functions/rag/rules/stored-chunks.ts';
import type { BenchOptions } from './canonical-http.ts';
import { round } from './load.ts';
import { measureIngest } from './rag-ingest.ts';

const SHAPES = [
  { chunkChars: 1_200, chunkOverlapChars: 150 },
  { chunkChars: 50_000, chunkOverlapChars: 49_000 },
];
const embedder = {
  provider: 'none',
  modelId: 'none',
  dimensions: 8,
  prefixes: { query: null, passage: null, symmetric: null },
};

/**
 * Chunks that are ingested in a second beside the bare limit; and those that are cut, hashed and planned alone, with the longest step,
 * which holds the process.
 */
export async function benchRag({ seconds, rounds }: BenchOptions, isQuick: boolean): Promise<object> {
  const ingest = await measureIngest(isQuick ? Math.min(seconds, 0.5) : seconds, isQuick ? 1 : rounds);
  return { bench: 'rag', ingest, planning: planning(isQuick) };
}

function planning(isQuick: boolean): object {
  const policy = readPolicy({
    name: 'notes',
    vectorPolicies: [{ name: 'v', path: '/vectors/v/values', dimensions: 8 }],
  });
  const text = 'A sentence of some words that end here. '.repeat(isQuick ? 2_500 : 49_000);
  return SHAPES.map((shape) => {
    const request = JSON.stringify({ partitionKey: 'p', text, options: { ...shape, persistManifest: true } });
    const began = performance.now();
    const document = readDocument(request, policy, embedder);
    const read = performance.now() - began;
    const cut = timed(cutDocument(document));
    const planned = timed(planIngestion(document, cut.result, storedChunks([], []), new RequestRecords()));
    const chunks = cut.result.length;
    return {
      ...shape,
      characters: text.length,
      chunks,
      readMs: round(read),
      cutChunksPerSecond: round((1_000 * chunks) / cut.ms),
      plannedChunksPerSecond: round((1_000 * chunks) / planned.ms),
      longestStepMs: round(Math.max(cut.longestMs, planned.longestMs)),
    };
  });
}

function timed<Result>(steps: Generator<unknown, Result>) {
  const began = performance.now();
  let longestMs = 0;
  for (;;) {
    const from = performance.now();
    const { done, value } = steps.next();
    longestMs = Math.max(longestMs, performance.now() - from);
    if (done === true) return { result: value, ms: performance.now() - began, longestMs };
  }
}
