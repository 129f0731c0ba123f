import { lookup } from 'node:dns';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import type { ProviderSetting } from '../config/settings/providers.ts';
import { builtInEmbedder, renamedEmbedder } from '../embeddings/built-in.ts';
import type { EmbeddingParts } from '../embeddings/embed-texts.ts';
import type { Embedder } from '../embeddings/embedder.ts';
import { guardedEmbedder } from '../embeddings/guarded-embedder.ts';
import { openAiEmbedder } from '../embeddings/openai-embedder.ts';
import type { EmbeddingProvider } from '../embeddings/provider.ts';
import type { VectorRetention } from '../embeddings/retention.ts';
import { vertexEmbedder } from '../embeddings/vertex-embedder.ts';
import { WorkLine } from '../embeddings/work-line.ts';
import { describeFailure } from '../kernel/log.ts';
import type { World } from '../kernel/world.ts';
import { googleCredentials } from '../providers/outgoing/google-credentials.ts';
import { guardedHttp } from '../providers/outgoing/guarded-http.ts';
import { secretFile } from '../providers/outgoing/secret-file.ts';
import { embeddingProvidersOf } from './embedding-providers.ts';
import type { GroupParts } from './group.ts';
import { providerGuardOf } from './provider-guards.ts';

const TIMEOUT_SECONDS_DEFAULT = 60;
const DAY_MS = 86_400_000;

/** The calls of all groups of the process share its processor. */
const line = new WorkLine();

/** The store of the process and the model that its settings name. */
export function embeddingPartsOf(parts: EmbeddingComposition): EmbeddingParts {
  const report = (error: unknown) =>
    parts.log({
      severity: 'WARNING',
      message: 'Vectors that were paid for could not be kept.',
      failure: describeFailure(error),
    });
  const paid = { retention: vectorRetentionOf(parts), report };
  return { store: parts.store.get, embedder: activeEmbedder(parts), paid };
}

type EmbeddingComposition = Pick<GroupParts, 'settings' | 'store' | 'world' | 'log'>;

export function vectorRetentionOf({
  settings,
  store,
  world,
}: Omit<EmbeddingComposition, 'log'>): VectorRetention {
  const { paidVectorRetentionDays: days } = settings.embeddings;
  return { store: store.get, clock: world.clock, retentionMs: days === null ? null : days * DAY_MS };
}

function activeEmbedder(parts: EmbeddingComposition): Embedder {
  const { settings, world } = parts;
  const { active } = embeddingProvidersOf(settings);
  const { provider, dimensions, modelId } = active;
  const entry = settings.providers.list.find(({ Id }) => Id === provider);
  if (entry !== undefined && entry.Kind !== 'deterministic')
    return guardedEmbedder(remoteEmbedder(entry, active, world), providerGuardOf(parts, entry));
  const processor = { clock: world.clock, line };
  const embedder =
    entry === undefined
      ? builtInEmbedder(provider, dimensions, processor)
      : renamedEmbedder({ provider, modelId, dimensions }, processor);
  if (embedder === null) throw new Error(`no embedder is ${provider}`);
  return embedder;
}

/** The rules of the configuration have refused entries that lack a member, and those that may not be called. */
function remoteEmbedder(entry: Partial<ProviderSetting>, active: EmbeddingProvider, world: World): Embedder {
  const { provider, modelId, dimensions, prefixes } = active;
  const timeoutMs = (entry.TimeoutSeconds ?? TIMEOUT_SECONDS_DEFAULT) * 1_000;
  const options = { provider, modelId, dimensions, prefixes, timeoutMs };
  const { BaseAddress = '', ProjectId = '', LocationId = '' } = entry;
  const guarded = { ...world, http: guardedHttp({ lookup, namedHosts: hostsNamedBy(BaseAddress) }) };
  if (entry.Kind === 'vertex') {
    const credentials = googleCredentials(world.http);
    return vertexEmbedder(guarded, { ...options, project: ProjectId, location: LocationId, credentials });
  }
  const { ApiKey, ApiKeyFile, SendsDimensions = false } = entry;
  const apiKey =
    ApiKeyFile === undefined
      ? () => Promise.resolve(ApiKey?.reveal() ?? null)
      : secretFile(() => readFile(ApiKeyFile, 'utf8'));
  return openAiEmbedder(guarded, {
    ...options,
    baseAddress: BaseAddress,
    sendsDimensions: SendsDimensions,
    apiKey,
  });
}

/** An address that the settings name as a number is meant, whatever lies there. */
function hostsNamedBy(baseAddress: string): ReadonlySet<string> {
  const host = URL.canParse(baseAddress) ? new URL(baseAddress).hostname.replace(/^\[|\]$/g, '') : '';
  return new Set(isIP(host) === 0 ? [] : [host]);
}
