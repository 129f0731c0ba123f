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
/** Bytes of a number of a vector as JSON, with its comma; most numbers need one or two more. */
const NUMBER_BYTES = 12;

/** The vectors and the usage of one request. */
interface Batch {
  readonly vectors: readonly (readonly number[])[];
  readonly usage: Usage;
}

/** The capability of a provider to embed texts, from its embedder. */
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

/** Checked before the first paid call. */
function requireRoom(bytes: number, { outputBytesMax = Infinity }: ModelBounds): void {
  if (bytes <= outputBytesMax) return;
  const message = `The vectors would have more than ${outputBytesMax} bytes: give fewer texts, or start an embedding job.`;
  throw new ProviderFailure('policy', 'input_limit', message);
}

/** A batch is a request that may cost money. A worker that resumes the run after a crash reads the stored vectors instead. */
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

/** Writes each number with the fewest digits of its single precision. The batch counts its own tokens only. */
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
