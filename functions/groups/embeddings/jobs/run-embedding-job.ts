import type { EmbeddingAnswer, EmbeddingItem } from '../../../embeddings/embed-texts.ts';
import { embedInParts } from '../../../embeddings/jobs/embed-in-parts.ts';
import { type PackedItems, packItems, unpackItems } from '../../../embeddings/jobs/packed-items.ts';
import {
  type EmbeddingQuestion,
  type EmbeddingRequest,
  readEmbeddingRequest,
} from '../../../embeddings/rules/request.ts';
import type { EmbeddingParts } from '../../../embeddings/text-vectors.ts';
import type { JobContext } from '../../../jobs/job-plugin.ts';
import { requestOf, withStaged } from '../../../jobs/staged-payload.ts';
import type { Json } from '../../../kernel/canonical-json.ts';
import { ProviderFailure } from '../../../providers/failure.ts';
import { ProviderPatience, withPatience } from '../../../providers/patience.ts';
import { REPORT_MS, RunFailure } from '../../../runs/plugin.ts';
import { type EmbeddingLayers, factsOf, isSameModel, type KeptResult, partKey } from './job-view.ts';

/** Executes a job, and continues the work of earlier executions. */
export function runEmbeddingJob(parts: EmbeddingLayers, context: JobContext): Promise<Json> {
  const progress = new JobProgress(parts, context);
  return withStaged(parts.payloads, context, {
    work: () => embedInTurns(parts, context, progress),
    failure: ProviderFailure,
    // The last report of the job holds its progress.
    report: () => progress.report(),
  });
}

/** Embeds the texts. The job waits if the provider may not be called now, or fails for a while. */
function embedInTurns(parts: EmbeddingLayers, context: JobContext, progress: JobProgress): Promise<Json> {
  const patience = new ProviderPatience(parts.patience, context);
  const work = () => embed(parts, context, { progress, patience });
  return withPatience(patience, context.signal, work, () => progress.report());
}

async function embed(
  parts: EmbeddingLayers,
  context: JobContext,
  { progress, patience }: { readonly progress: JobProgress; readonly patience: ProviderPatience },
): Promise<Json> {
  const facts = factsOf(context.tags);
  const isFirst = context.attempt === 1 && progress.done === 0;
  const { items: kept, count } = isFirst ? NOTHING_KEPT : await keptParts(context);
  let partCount = count;
  // Prove the lease before the call of the model costs money.
  await progress.reach(kept.length);
  const keep = async (items: readonly EmbeddingItem[]) => {
    await context.writeCheckpoint(partKey(partCount), packItems(items, facts.dimensions));
    partCount += 1;
    await patience.answered();
    await progress.reach(progress.done + items.length);
  };
  // An earlier execution that finished the work has removed the staged payload.
  const answer =
    kept.length === progress.requested
      ? { ...facts, items: kept }
      : await embedInParts(sameModel(parts, context), await questionOf(parts, context), {
          space: context.job.space,
          signal: context.signal,
          kept,
          keep,
        });
  return resultOf(parts, answer, partCount);
}

function sameModel({ embeddings }: EmbeddingLayers, { tags }: JobContext): EmbeddingParts {
  if (isSameModel(embeddings.embedder, factsOf(tags))) return embeddings;
  const message = 'The service has another embedding model than when it admitted the job.';
  throw new RunFailure('configuration', message);
}

async function questionOf(
  { payloads }: EmbeddingLayers,
  { payload }: JobContext,
): Promise<EmbeddingQuestion> {
  return readEmbeddingRequest((await requestOf(payloads, payload)) as EmbeddingRequest);
}

const NOTHING_KEPT = { items: [], count: 0 };

/** The vectors that earlier executions have stored. */
async function keptParts(context: JobContext) {
  const items: EmbeddingItem[] = [];
  for (let count = 0; ; count += 1) {
    const part = await context.readCheckpoint(partKey(count));
    if (part === null) return { items, count };
    items.push(...unpackItems(part.content as unknown as PackedItems, items.length));
  }
}

/** Counts the texts with vectors. Reports the count at the start, at the end and at intervals. */
class JobProgress {
  readonly #parts: EmbeddingLayers;
  readonly #context: JobContext;
  readonly requested: number;
  done = 0;
  #reportedAt = Number.NEGATIVE_INFINITY;

  constructor(parts: EmbeddingLayers, context: JobContext) {
    this.#parts = parts;
    this.#context = context;
    this.requested = context.job.requested ?? 0;
  }

  async reach(done: number): Promise<void> {
    this.done = done;
    const isDue = this.#parts.records.world.clock.now() - this.#reportedAt >= REPORT_MS;
    if (isDue || done >= this.requested) await this.report();
  }

  async report(): Promise<void> {
    const { done, requested } = this;
    this.#reportedAt = this.#parts.records.world.clock.now();
    await this.#context.report({
      requested,
      attempted: done,
      succeeded: done,
      failed: 0,
      progress: requested === 0 ? 1 : done / requested,
      currentStep: 'embedding.item',
      statusDetails: { currentIndex: done < requested ? done : null },
    });
  }
}

/** The result for the run: the answer, or the number of its checkpoints if it is large. */
function resultOf({ resultBytesMax }: EmbeddingLayers, answer: EmbeddingAnswer, parts: number): Json {
  const isLarge = Buffer.byteLength(JSON.stringify(answer)) > resultBytesMax;
  const { provider, modelId, dimensions, purpose } = answer;
  const kept = { provider, modelId, dimensions, purpose, parts } satisfies KeptResult;
  return isLarge ? kept : (answer as unknown as Json);
}
