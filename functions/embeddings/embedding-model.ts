import { float32Number } from '../collections/rules/snapshot/float32-text.ts';
import type { LiveModel } from '../providers/live/model.ts';
import { usageOf } from '../providers/rules/usage.ts';
import type { Embedder } from './embedder.ts';
import { splitBatches, tokensOf } from './rules/batches.ts';
import { preparedTexts } from './rules/request.ts';

const NO_PREFIXES = { query: null, passage: null, symmetric: null };

/** The capability of a provider to embed texts, by its embedder. No provider says how many tokens of vectors it counted. */
export function embeddingModel(embedder: Embedder): Required<Pick<LiveModel, 'embed'>> {
  return {
    async embed({ texts, purpose }, { signal, admit }) {
      const prepared = preparedTexts({ purpose, prefixes: NO_PREFIXES, texts }, embedder.prefixes);
      const vectors: Float32Array[] = [];
      for (const batch of splitBatches(
        prepared.map(({ text }) => text),
        embedder.batch,
      )) {
        // Each batch is a request of its own, and counts no more than its own tokens.
        const admitBatch = admit && (() => admit(tokensOf(batch)));
        vectors.push(...(await embedder.embed(batch, { purpose, signal, admit: admitBatch })));
      }
      const input = prepared.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
      const usage = usageOf({ input: null, output: null }, { input, output: 0 });
      return { value: { dimensions: embedder.dimensions, vectors: vectors.map(shortNumbers) }, usage };
    },
  };
}

/** Each with the fewest digits that give the same number in single precision. */
function shortNumbers(vector: Float32Array): readonly number[] {
  return Array.from(vector, float32Number);
}
