import type { Settings } from './table.ts';

/** Whether an API key is configured that a caller could present. */
export function hasApiKeys({ security }: Pick<Settings, 'security'>): boolean {
  const { apiKeys, apiKey, apiKeyHashes, apiKeyFile } = security;
  return apiKeys.length + apiKeyHashes.length > 0 || apiKey !== null || apiKeyFile !== null;
}
