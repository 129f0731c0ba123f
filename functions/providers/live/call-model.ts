import type { JsonObject } from '../../kernel/canonical-json.ts';
import { ProviderFailure } from '../failure.ts';
import type { EmbeddingPayload, RerankPayload, RunPayload } from '../rules/payloads.ts';
import { type PromptedPayload, promptOf } from '../rules/prompts.ts';
import { outputOf } from '../rules/structured-answer.ts';
import { estimatedTokens, type Usage } from '../rules/usage.ts';
import type { LiveModel, ModelBounds } from './model.ts';

/** Marks results of which only the shape was checked; the provider alone is responsible for their content. */
const SHAPE_CHECKED = 'shape_checked';

export interface CapabilityAnswer {
  readonly output: JsonObject;
  readonly usage: Usage;
}

/** Calls a model with the prompt of a payload. Throws a `ProviderFailure`. */
export async function callModel(
  model: LiveModel,
  payload: RunPayload,
  bounds: ModelBounds,
): Promise<CapabilityAnswer> {
  if (payload.capability === 'ai.rerank') return rank(model, payload, bounds);
  if (payload.capability === 'ai.embedding') return embed(model, payload, bounds);
  return complete(model, payload, bounds);
}

async function complete(model: LiveModel, payload: PromptedPayload, bounds: ModelBounds) {
  if (model.complete === undefined) throw missing();
  const { value, usage, secret } = await model.complete(promptOf(payload), bounds);
  return { output: outputOf(payload, value, secret), usage };
}

async function rank(model: LiveModel, { query, candidates, limit }: RerankPayload, bounds: ModelBounds) {
  if (model.rank === undefined) throw missing();
  const documents = candidates.map(({ text }) => text);
  const asked = { query, documents, limit: Math.min(limit, documents.length) };
  const { value, usage } = await model.rank(asked, bounds);
  // Equal scores keep the order of the request.
  const best = value.toSorted((left, right) => right.score - left.score || left.index - right.index);
  const items = best.slice(0, limit).map(({ index, score }, at) => ({
    id: candidates[index]?.id ?? '',
    rank: at + 1,
    score,
  }));
  return { output: { items, validationStatus: SHAPE_CHECKED }, usage };
}

async function embed(model: LiveModel, { texts, purpose }: EmbeddingPayload, bounds: ModelBounds) {
  if (model.embed === undefined) throw missing();
  const { value, usage } = await model.embed({ texts, purpose }, bounds);
  const items = value.vectors.map((values, index) => ({ index, values }));
  return { output: { dimensions: value.dimensions, purpose, items }, usage };
}

function missing(): ProviderFailure {
  return new ProviderFailure(
    'configuration',
    'capability_not_configured',
    'The settings name no model for it.',
  );
}

/** Tokens that a call may take: those of its payload and, where a model writes, as many as it may write. */
export function tokensOf({ capability }: RunPayload, payloadBytes: number, outputTokensMax: number): number {
  const writes = capability !== 'ai.rerank' && capability !== 'ai.embedding';
  return estimatedTokens(payloadBytes) + (writes ? outputTokensMax : 0);
}
