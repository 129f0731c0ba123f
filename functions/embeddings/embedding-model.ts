import { float32Number } from '../collections/rules/snapshot/float32-text.ts';
import type { Json } from '../kernel/canonical-json.ts';
import { ProviderFailure } from '../providers/failure.ts';
import type { LiveModel, ModelBounds } from '../providers/live/model.ts';
import { totalUsage, type Usage } from '../providers/rules/usage.ts';
import type { EmbedCall, Embedder } from './embedder.ts';
import { splitBatches, tokensOf } from './rules/batches.ts';
import { preparedTexts } from './rules/request.ts';
import { textsUsage } from './rules/texts-usage.ts';

const NO_PREFIXES = { query: null, passage: null, symmetric: null };
/** What a number of a vector takes as JSON, with its comma; most take one or two more. */
const NUMBER_BYTES = 12;

/** What one request gave and what it took. */
interface Batch {
  readonly vectors: readonly (readonly number[])[];
  readonly usage: Usage;
}

/** The capability of a provider to embed texts, by its embedder. */
export function embeddingModel(embedder: Embedder): Required<Pick<LiveModel, 'embed'>> {
  return {
    async embed({ texts, purpose }, bounds) {
      const { dimensions, prefixes, batch } = embedder;
      requireRoom(texts.length * dimensions * NUMBER_BYTES, bounds);
      const prepared = preparedTexts({ purpose, prefixes: NO_PREFIXES, texts }, prefixes);
      const done: Batch[] = [];
      const batches = splitBatches(
        prepared.map(({ text }) => text),
        batch,
      );
      for (const [index, each] of batches.entries()) {
        const embed = () => bought(embedder, each, { purpose, ...bounds });
        done.push(await (batches.length === 1 ? embed() : kept(bounds, index, embed)));
      }
      const usage = totalUsage(done.map((each) => each.usage)) ?? textsUsage([], null);
      return { value: { dimensions, vectors: done.flatMap(({ vectors }) => vectors) }, usage };
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
  embed: () => Promise<Batch>,
): Promise<Batch> {
  const key = `batch-${index}`;
  const found = (await memory?.read(key)) ?? null;
  if (found !== null) return found as unknown as Batch;
  const batch = await embed();
  await memory?.write(key, batch as unknown as Json);
  return batch;
}

/** Each with the fewest digits that give the same number in single precision. The batch counts no more than its own tokens. */
async function bought(
  embedder: Embedder,
  texts: readonly string[],
  {
    purpose,
    signal,
    admit,
    took,
  }: Pick<EmbedCall, 'purpose'> & Pick<ModelBounds, 'signal' | 'admit' | 'took'>,
): Promise<Batch> {
  let usage = textsUsage(texts, null);
  const vectors = await embedder.embed(texts, {
    purpose,
    signal,
    admit: admit && (() => admit(tokensOf(texts))),
    took(tokens) {
      usage = textsUsage(texts, tokens);
      took?.(usage);
    },
  });
  return { vectors: vectors.map((vector) => Array.from(vector, float32Number)), usage };
}
