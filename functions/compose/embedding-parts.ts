import { builtInEmbedder, renamedEmbedder } from '../embeddings/built-in.ts';
import type { Embedder } from '../embeddings/embedder.ts';
import { guardedEmbedder } from '../embeddings/guarded-embedder.ts';
import type { VectorRetention } from '../embeddings/retention.ts';
import { createEmbeddingParts } from '../embeddings/text-vectors.ts';
import { describeFailure } from '../kernel/log.ts';
import { embeddingProvidersOf } from './embedding-providers.ts';
import { type LayerParts, layer } from './layer.ts';
import { outgoingOf } from './outgoing.ts';
import { providerGuardOf } from './provider-guards.ts';
import { remoteEmbedder } from './remote-embedder.ts';

const DAY_MS = 86_400_000;

/** The store of the process and the model that its settings name. */
export const embeddingPartsOf = layer((parts) => {
  const report = (error: unknown) =>
    parts.log({
      severity: 'WARNING',
      message: 'Vectors of a paid call could not be stored.',
      failure: describeFailure(error),
    });
  const paid = { retention: vectorRetentionOf(parts), report };
  return createEmbeddingParts({
    store: parts.store.get,
    embedder: activeEmbedder(parts),
    paid,
    turns: parts.world.turns,
  });
});

export const vectorRetentionOf = layer(({ settings, store, world }): VectorRetention => {
  const { paidVectorRetentionDays: days } = settings.embeddings;
  return {
    store: store.get,
    clock: world.clock,
    retentionMs: days === null ? null : days * DAY_MS,
    announced: new Map(),
  };
});

function activeEmbedder(parts: LayerParts): Embedder {
  const { settings, world } = parts;
  const { active } = embeddingProvidersOf(settings);
  const { provider, dimensions, modelId } = active;
  const entry = settings.providers.list.find(({ Id }) => Id === provider);
  if (entry !== undefined && entry.Kind !== 'deterministic')
    return guardedEmbedder(
      remoteEmbedder(entry, active, outgoingOf(entry, world)),
      providerGuardOf(parts, entry),
    );
  const embedder =
    entry === undefined
      ? builtInEmbedder(provider, dimensions, world.turns)
      : renamedEmbedder({ provider, modelId, dimensions }, world.turns);
  if (embedder === null) throw new Error(`no embedder is ${provider}`);
  return embedder;
}
