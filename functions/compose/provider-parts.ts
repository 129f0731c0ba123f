import type { ProviderSetting } from '../config/settings/providers.ts';
import { embeddingModel } from '../embeddings/embedding-model.ts';
import { type LiveModel, type ModelBounds, OUTPUT_TOKENS_DEFAULT } from '../providers/live/model.ts';
import { openAiModel } from '../providers/live/openai-model.ts';
import { vertexModel } from '../providers/live/vertex-model.ts';
import type { LiveProvider, RegisteredProvider } from '../providers/registered.ts';
import { RUN_LIMITS } from '../providers/rules/run-limits.ts';
import type { ProviderTarget } from '../providers/rules/target.ts';
import type { CapabilityParts } from '../providers/run-capability.ts';
import { writeTrace } from '../traces/write-trace.ts';
import { prefixesOf } from './embedding-providers.ts';
import { type LayerParts, layer } from './layer.ts';
import { outgoingOf } from './outgoing.ts';
import { providerGuardOf } from './provider-guards.ts';
import { liveEntriesOf, providerTargetsOf } from './provider-targets.ts';
import { remoteEmbedder } from './remote-embedder.ts';
import { tracePartsOf } from './trace-parts.ts';

/** The most runs of one network provider at a time, over all spaces. */
const CONCURRENT_RUNS_IN_ALL = 8;

/** The providers of one process. */
export interface ProviderRegistry {
  readonly all: readonly RegisteredProvider[];
  /** `undefined`: there is no such provider. */
  readonly find: (id: string) => RegisteredProvider | undefined;
}

/** The providers, each with the means to call it, or `null` if it may not be called. To make them opens and calls nothing. */
export const providerRegistryOf = layer((parts): ProviderRegistry => {
  const { providers } = parts.settings;
  const entries = new Map(liveEntriesOf(providers).map((entry) => [entry.Id, entry]));
  const all = providerTargetsOf(parts.settings).map((target): RegisteredProvider => {
    const entry = entries.get(target.id);
    return { target, live: entry && target.isEnabled ? liveProviderOf(parts, target, entry) : null };
  });
  const byId = new Map(all.map((provider) => [provider.target.id, provider]));
  return { all, find: (id) => byId.get(id) };
});

/** The dependencies of capability runs: the limits that all instances share, and the traces of the process. */
export const capabilityPartsOf = layer((parts): CapabilityParts => {
  const traces = tracePartsOf(parts);
  return {
    world: parts.world,
    store: parts.store.get,
    limits: RUN_LIMITS,
    concurrentInAll: CONCURRENT_RUNS_IN_ALL,
    writeTrace: (space, trace) => writeTrace(traces, space, trace),
  };
});

function liveProviderOf(
  parts: LayerParts,
  target: ProviderTarget,
  entry: Partial<ProviderSetting>,
): LiveProvider {
  const { OutputTokensMax: outputTokensMax = OUTPUT_TOKENS_DEFAULT } = entry;
  const { InputPrice: input = null, OutputPrice: output = null } = entry;
  return {
    model: withinTime(modelOf(parts, target, entry, outputTokensMax), entry.TimeoutSeconds),
    guard: providerGuardOf(parts, entry),
    prices: { input, output },
    outputTokensMax,
    queueSeconds: entry.QueueSeconds,
  };
}

/** The rules of the configuration have refused entries that lack a member. */
function modelOf(
  { world }: LayerParts,
  { id: provider, modelId, capabilities }: ProviderTarget,
  entry: Partial<ProviderSetting>,
  outputTokensMax: number,
): LiveModel {
  const outgoing = outgoingOf(entry, world);
  const { apiKey, credentials } = outgoing;
  const { BaseAddress: baseAddress = '', ProjectId: project = '', LocationId: location = '' } = entry;
  const called = { modelId, outputTokensMax };
  const model: LiveModel =
    entry.Kind === 'vertex'
      ? vertexModel(outgoing.world, { ...called, project, location, credentials })
      : openAiModel(outgoing.world, { ...called, baseAddress, apiKey, tokenParameter: entry.TokenParameter });
  if (!capabilities.includes('ai.embedding')) return model;
  const { Dimensions: dimensions = 1 } = entry;
  const named = { provider, modelId, dimensions, prefixes: prefixesOf(entry) };
  const embedder = remoteEmbedder(entry, named, outgoing);
  return { ...model, ...embeddingModel(embedder) };
}

/** The settings may bound a call below what a run allows; embedders keep to it themselves. */
function withinTime(model: LiveModel, seconds: number | undefined): LiveModel {
  if (seconds === undefined) return model;
  const { complete, rank } = model;
  const bounded = (bounds: ModelBounds): ModelBounds => ({
    ...bounds,
    timeoutMs: Math.min(bounds.timeoutMs, seconds * 1_000),
  });
  return {
    ...model,
    ...(complete && { complete: (prompt, bounds) => complete(prompt, bounded(bounds)) }),
    ...(rank && { rank: (question, bounds) => rank(question, bounded(bounds)) }),
  };
}
