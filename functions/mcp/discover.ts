import type { JsonMembers } from '../kernel/json-kinds.ts';
import { taskCapability } from './capabilities.ts';
import type { McpCatalog } from './catalog.ts';
import type { AnswerMethod } from './exchange.ts';
import { CONTENT_VERSION } from './names.ts';
import { REVISION } from './revisions.ts';

/** Older revisions are not listed: their clients do not ask, and a request of this revision cannot name them. */
export const discover: AnswerMethod = async ({ parts: { catalog, settings } }) => ({
  resultType: 'complete',
  supportedVersions: [REVISION],
  capabilities: { ...catalogCapabilities(catalog), ...(catalog.tasks ? taskCapability : {}) },
  ...(catalog.instructions === undefined ? {} : { instructions: catalog.instructions }),
  ttlMs: settings.discoverTtlMs,
  cacheScope: 'private',
  _meta: { [CONTENT_VERSION]: catalog.contentVersion },
});

/** The capabilities that the catalog has in every revision. */
export function catalogCapabilities({ tools, resources, prompts, complete }: McpCatalog): JsonMembers {
  return {
    ...(tools ? { tools: {} } : {}),
    ...(resources ? { resources: {} } : {}),
    ...(prompts ? { prompts: {} } : {}),
    ...(complete ? { completions: {} } : {}),
  };
}
