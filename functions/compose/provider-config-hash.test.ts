import { expect, test } from 'vitest';
import { Secret } from '../config/secret.ts';
import type { ProviderSetting } from '../config/settings/providers.ts';
import { configHashOf } from './provider-config-hash.ts';

const entry: Partial<ProviderSetting> = {
  Id: 'mine',
  Kind: 'openai-compatible',
  BaseAddress: 'https://models.test/v1',
  Model: 'small',
  Dimensions: 3,
  ApiKeyFile: '/run/secrets/key',
};

test('the hash of a configuration is pinned', () => {
  expect(configHashOf(entry)).toBe('sha256:414b806267ac762e891932bb49ba1264a785342062673937537d1bde0be5f438');
  expect(configHashOf({ Kind: 'vertex', ProjectId: 'p', LocationId: 'global', Model: 'm' })).toBe(
    'sha256:69ae22534e70ea92442237cdcd6ae8b5e662d8b1ce5d760378eb3761fcfdde08',
  );
});

test.each<[string, Partial<ProviderSetting>]>([
  ['kind', { Kind: 'deterministic' }],
  ['address', { BaseAddress: 'https://models.test/v2' }],
  ['model', { Model: 'large' }],
  ['length of vectors', { Dimensions: 4 }],
  ['length that is asked for', { SendsDimensions: true }],
  ['prefix', { QueryPrefix: 'query: ' }],
  ['calls', { CallsPerMinute: 5 }],
  ['tokens', { TokensPerDayMax: 5 }],
  ['share', { SpaceSharePercent: 10 }],
  ['time', { TimeoutSeconds: 5 }],
  ['capability', { Capabilities: ['ai.embedding', 'ai.chat'] }],
  ['length of texts', { OutputTokensMax: 5 }],
  ['member that bounds it', { TokenParameter: 'max_completion_tokens' }],
  ['name of the secret', { ApiKeyFile: '/run/secrets/other' }],
])('changes with another %s', (_, change) => {
  expect(configHashOf({ ...entry, ...change })).not.toBe(configHashOf(entry));
});

test('depends neither on the secret itself nor on display names', () => {
  const { ApiKeyFile: _, ...rest } = entry;
  const keyed = (key: string) => configHashOf({ ...rest, ApiKey: new Secret(key) });
  expect(keyed('first')).toBe(keyed('second'));
  expect(keyed('first')).not.toBe(configHashOf(rest));
  expect(configHashOf({ ...entry, DisplayName: 'Mine', Id: 'yours' })).toBe(configHashOf(entry));
});
