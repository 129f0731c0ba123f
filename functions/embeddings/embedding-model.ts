import { float32Number } from '../collections/rules/snapshot/float32-text.ts';
import { ProviderFailure } from '../providers/failure.ts';
import type { LiveModel, ModelBounds } from '../providers/live/model.ts';
import { usageOf } from '../providers/rules/usage.ts';
import type { EmbedCall, Embedder } from './embedder.ts';
import { splitBatches, tokensOf } from './rules/batches.ts';
import { preparedTexts } from './rules/request.ts';

const NO_PREFIXES = { query: null, passage: null, symmetric: null };
/** What a number of a vector takes as JSON, with its comma; most take one or two more. */
const NUMBER_BYTES = 12;

/** The capability of a provider to embed texts, by its embedder. No provider says how many tokens of vectors it counted. */
export function embeddingModel(embedder: Embedder): Required<Pick<LiveModel, 'embed'>> {
  return {
    async embed({ texts, purpose }, bounds) {
      const { dimensions, prefixes, batch } = embedder;
      requireRoom(texts.length * dimensions * NUMBER_BYTES, bounds);
      const prepared = preparedTexts({ purpose, prefixes: NO_PREFIXES, texts }, prefixes);
      const vectors: (readonly number[])[] = [];
      const batches = splitBatches(
        prepared.map(({ text }) => text),
        batch,
      );
      for (const [index, each] of batches.entries()) {
        const embed = () => vectorsOf(embedder, each, { purpose, ...bounds });
        vectors.push(...(await (batches.length === 1 ? embed() : kept(bounds, index, embed))));
      }
      const input = prepared.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
      const usage = usageOf({ input: null, output: null }, { input, output: 0 });
      return { value: { dimensions, vectors }, usage };
    },
  };
}

/** Before anything is paid for. */
function requireRoom(bytes: number, { outputBytesMax = Infinity }: ModelBounds): void {
  if (bytes <= outputBytesMax) return;
  const message = `The vectors would have more than ${outputBytesMax} bytes: give fewer texts, or start an embedding job.`;
  throw new ProviderFailure('policy', 'input_limit', message);
}

/** Each batch is a request that may be paid for. A worker that resumes the run after a crash reads the kept vectors and does not send it again. */
async function kept(
  { memory = null }: ModelBounds,
  index: number,
  embed: () => Promise<readonly (readonly number[])[]>,
): Promise<readonly (readonly number[])[]> {
  const key = `vectors-${index}`;
  const found = (await memory?.read(key)) ?? null;
  if (found !== null) return found as readonly (readonly number[])[];
  const vectors = await embed();
  await memory?.write(key, vectors);
  return vectors;
}

/** Each with the fewest digits that give the same number in single precision. The batch counts no more than its own tokens. */
async function vectorsOf(
  embedder: Embedder,
  texts: readonly string[],
  { purpose, signal, admit }: Pick<EmbedCall, 'purpose'> & Pick<ModelBounds, 'signal' | 'admit'>,
): Promise<readonly (readonly number[])[]> {
  const admitBatch = admit && (() => admit(tokensOf(texts)));
  const vectors = await embedder.embed(texts, { purpose, signal, admit: admitBatch });
  return vectors.map((vector) => Array.from(vector, float32Number));
}
