import { isLoopback } from './loopback.ts';
import type { Rule, RuleFault } from './rule.ts';
import type { ProviderSetting } from './settings/providers.ts';
import { table } from './table.ts';

/** Rules of the settings of embeddings and of providers. */

const builtIn: ReadonlySet<string> = new Set(['local-token-hash', 'deterministic-hash']);
const listKey = table.providers.list.key;
const switchKey = table.providers.enableLiveTargets.key;

type Member = keyof ProviderSetting;

/** Members that only some kinds have a use for, and those that each needs. */
const needed: Readonly<Record<ProviderSetting['Kind'], readonly Member[]>> = {
  deterministic: [],
  'openai-compatible': ['BaseAddress'],
  vertex: ['ProjectId', 'LocationId'],
};
const ofNetwork = ['TimeoutSeconds', 'CallsPerMinute', 'TokensPerDayMax', 'SpaceSharePercent'] as const;
const prefixes = ['QueryPrefix', 'PassagePrefix', 'SymmetricPrefix'] as const;
const useful: typeof needed = {
  deterministic: [],
  'openai-compatible': [
    'BaseAddress',
    'AllowsPlainHttp',
    'SendsDimensions',
    'ApiKey',
    'ApiKeyFile',
    ...prefixes,
    ...ofNetwork,
  ],
  vertex: ['ProjectId', 'LocationId', ...prefixes, ...ofNetwork],
};
const common: readonly Member[] = ['Id', 'Kind', 'DisplayName', 'Model', 'Dimensions'];

const soundProviders: Rule = ({ providers }) => {
  const ids = new Set<string>(builtIn);
  return providers.list.flatMap((entry, index) => {
    const messages = entryFaults(entry);
    const { Id = '' } = entry;
    if (ids.has(Id)) messages.push(`names the Id ${Id}, which another provider has`);
    ids.add(Id);
    return messages.map((message): RuleFault => ({ key: `${listKey}:${index}`, message }));
  });
};

function entryFaults(entry: Partial<ProviderSetting>): string[] {
  const { Kind } = entry;
  if (Kind === undefined) return ['has no Kind'];
  const missing = (['Id', 'Model', 'Dimensions', ...needed[Kind]] as const).filter(
    (name) => entry[name] === undefined,
  );
  const faults = missing.map((name) => `has no ${name}`);
  const useless = (Object.keys(entry) as Member[]).filter(
    (name) => !common.includes(name) && !useful[Kind].includes(name),
  );
  faults.push(...useless.map((name) => `has ${name}, for which the kind ${Kind} has no use`));
  if (entry.ApiKey !== undefined && entry.ApiKeyFile !== undefined)
    faults.push('has both ApiKey and ApiKeyFile: one of them holds the key');
  faults.push(...addressFaults(entry));
  if (Kind === 'deterministic' && !deterministicModels.has(entry.Model ?? ''))
    faults.push(`names another Model than ${[...deterministicModels].join(' and ')}`);
  return faults;
}

function addressFaults({
  BaseAddress,
  ApiKey,
  ApiKeyFile,
  AllowsPlainHttp = false,
}: Partial<ProviderSetting>): string[] {
  if (BaseAddress === undefined) return [];
  if (!URL.canParse(BaseAddress)) return ['has a BaseAddress that cannot be read'];
  const { protocol, hostname } = new URL(BaseAddress);
  const hasKey = ApiKey !== undefined || ApiKeyFile !== undefined;
  const isSafe = protocol === 'https:' || isLoopback(hostname.replace(/^\[|\]$/g, ''));
  if (!hasKey || isSafe || AllowsPlainHttp) return [];
  return ['would send its key unencrypted: BaseAddress must begin with https:, or AllowsPlainHttp be true'];
}

const deterministicModels: ReadonlySet<string> = new Set([
  'local-token-hash-embedding-v1',
  'deterministic-hash-embedding-v1',
]);

const knownProvider: Rule = ({ embeddings, providers }) => {
  const { key } = table.embeddings.provider;
  if (builtIn.has(embeddings.provider)) return [];
  const entry = providers.list.find(({ Id }) => Id === embeddings.provider);
  if (entry === undefined) {
    const message = `names no provider: it may be ${[...builtIn].join(', ')}, or the Id of an entry of ${listKey}`;
    return [{ key, message }];
  }
  if (entry.Kind === 'deterministic' || providers.enableLiveTargets) return [];
  return [{ key, message: `names a provider over the network, and ${switchKey} is false` }];
};

/** The entry of the provider says how long its vectors are. */
const ownDimensions: Rule = ({ embeddings: { provider, dimensions } }) => {
  if (dimensions === null || builtIn.has(provider)) return [];
  const message = `is set, but the entry of ${provider} in ${listKey} says how long its vectors are`;
  return [{ key: table.embeddings.dimensions.key, message }];
};

export const embeddingRules: readonly Rule[] = [soundProviders, knownProvider, ownDimensions];
