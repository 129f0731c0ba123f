import { taskCapability } from './capabilities.ts';
import { REVISION } from './errors.ts';
import type { AnswerMethod } from './exchange.ts';
import { CONTENT_VERSION } from './names.ts';

export const discover: AnswerMethod = async ({ parts: { catalog, settings } }) => ({
  resultType: 'complete',
  supportedVersions: [REVISION],
  capabilities: {
    ...(catalog.tools ? { tools: {} } : {}),
    ...(catalog.resources ? { resources: {} } : {}),
    ...(catalog.prompts ? { prompts: {} } : {}),
    ...(catalog.complete ? { completions: {} } : {}),
    ...(catalog.tasks ? taskCapability : {}),
  },
  ...(catalog.instructions === undefined ? {} : { instructions: catalog.instructions }),
  ttlMs: settings.discoverTtlMs,
  cacheScope: 'private',
  _meta: { [CONTENT_VERSION]: catalog.contentVersion },
});
