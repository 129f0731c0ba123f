import type { ServerHealthStatus } from '../../../contracts/generated/models.ts';
import { operations } from '../../../contracts/generated/operations/server.ts';
import type { Handler } from '../../http/handler.ts';
import { formatUtc } from '../../kernel/timestamp.ts';
import type { ServerDependencies } from './dependencies.ts';

const DISABLED = 'disabled';

/** Describes the service and its configuration, from memory alone. */
export function getHealth(dependencies: ServerDependencies): Handler<'getHealth'> {
  return async (_, { now }) => ({ status: 200, body: healthStatus(dependencies, now) });
}

export function healthStatus(
  { release, canonical, records, embedding, providers, apiKey }: ServerDependencies,
  now: number,
): ServerHealthStatus {
  // One database holds records, objects and traces.
  const recordStore = records?.off === null ? records.provider : DISABLED;
  return {
    status: 'ok',
    service: release.service,
    version: release.version,
    contractPath: pathOf('getOpenApiContract'),
    schemaContractPath: pathOf('getPublicSchemaContract'),
    storage: {
      recordStore,
      objectStore: recordStore,
      traceStore: recordStore,
      canonicalStore: canonical?.provider ?? DISABLED,
    },
    embedding: embeddingStatus(embedding ?? null),
    security: {
      apiKeyRequired: apiKey.required,
      apiKeyHeader: apiKey.header,
      providerRunLimits: providers?.limits ?? {},
    },
    checkedAt: formatUtc(now),
  };
}

function embeddingStatus(active: ServerDependencies['embedding']): ServerHealthStatus['embedding'] {
  if (active === null || active === undefined) return null;
  const { provider, modelId, dimensions, isLocal, semanticQuality } = active;
  return { provider, modelId, dimensions, runtime: { local: isLocal, semanticQuality } };
}

/** The path of an operation without parameters. */
export function pathOf(
  id: 'getHealth' | 'getReadiness' | 'getOpenApiContract' | 'getPublicSchemaContract',
): string {
  const segments = operations[id].routes[0]?.segments ?? [];
  return `/${segments.map((segment) => ('literal' in segment ? segment.literal : '')).join('/')}`;
}
