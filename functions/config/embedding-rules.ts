import { isLoopback } from './loopback.ts';
import type { Rule, RuleFault } from './rule.ts';
import { capabilitiesOf, type ProviderSetting } from './settings/providers.ts';
import { table } from './table.ts';

/** Rules of the settings of embeddings and of providers. */

const builtIn: ReadonlySet<string> = new Set(['local-token-hash', 'deterministic-hash']);
/** The other providers that are part of the service. */
const localTargets = ['local-deterministic-ai', 'local-token-overlap-reranker'];
const listKey = table.providers.list.key;
const switchKey = table.providers.enableLiveTargets.key;

type Member = keyof ProviderSetting;

/** Members that only some kinds have a use for, and those that each needs. */
const needed: Readonly<Record<ProviderSetting['Kind'], readonly Member[]>> = {
  deterministic: [],
  'openai-compatible': ['BaseAddress'],
  vertex: ['ProjectId', 'LocationId'],
};
const ofNetwork = [
  'TimeoutSeconds',
  'CallsPerMinute',
  'TokensPerDayMax',
  'SpaceSharePercent',
  'InputPrice',
] as const;
const prefixes = ['QueryPrefix', 'PassagePrefix', 'SymmetricPrefix'] as const;
const useful: typeof needed = {
  deterministic: [],
  'openai-compatible': [
    'BaseAddress',
    'AllowsPlainHttp',
    'ApiKey',
    'ApiKeyFile',
    'Capabilities',
    ...ofNetwork,
  ],
  vertex: ['ProjectId', 'LocationId', 'Capabilities', ...ofNetwork],
};
const common: readonly Member[] = ['Id', 'Kind', 'DisplayName', 'Model'];

const soundProviders: Rule = ({ providers }) => {
  const ids = new Set<string>([...builtIn, ...localTargets]);
  return providers.list.flatMap((entry, index) => {
    const messages = entryFaults(entry);
    const { Id = '' } = entry;
    if (ids.has(Id)) messages.push(`names the Id ${Id}, which another provider has`);
    ids.add(Id);
    return messages.map((message): RuleFault => ({ key: `${listKey}:${index}`, message }));
  });
};

/** Files of settings are copied and kept under version control, and a command line is shown to every user of the machine. */
const hiddenKeys: Rule = ({ providers }, _host, _isGiven, sourceOf) =>
  providers.list.flatMap(({ ApiKey }, index) => {
    const key = `${listKey}:${index}:ApiKey`;
    const isHidden = sourceOf(key)?.startsWith('environment variable ') ?? true;
    if (ApiKey === undefined || isHidden) return [];
    const message =
      'must come from the environment; with settings from a file, name a file of the key by ApiKeyFile';
    return [{ key, message }];
  });

function entryFaults(entry: Partial<ProviderSetting>): string[] {
  const { Kind } = entry;
  if (Kind === undefined) return ['has no Kind'];
  const embeds = capabilitiesOf(entry).includes('ai.embedding');
  const missing = (
    ['Id', 'Model', ...(embeds ? (['Dimensions'] as const) : []), ...needed[Kind]] as const
  ).filter((name) => entry[name] === undefined);
  const faults = missing.map((name) => `has no ${name}`);
  const ofKind = [...common, ...useful[Kind]];
  const uses = new Set([...ofKind, ...usesOfCapabilities(entry, Kind)]);
  const all = new Set([
    ...ofKind,
    ...usesOfCapabilities({ Capabilities: ['ai.embedding', 'ai.chat'] }, Kind),
  ]);
  const useless = (Object.keys(entry) as Member[]).filter((name) => !uses.has(name));
  faults.push(
    ...useless.map((name) => {
      const which = all.has(name) ? 'its Capabilities have' : `the kind ${Kind} has`;
      return `has ${name}, for which ${which} no use`;
    }),
  );
  faults.push(...capabilityFaults(entry));
  if (entry.ApiKey !== undefined && entry.ApiKeyFile !== undefined)
    faults.push('has both ApiKey and ApiKeyFile: one of them holds the key');
  faults.push(...addressFaults(entry));
  if (Kind === 'deterministic' && !deterministicModels.has(entry.Model ?? ''))
    faults.push(`names another Model than ${[...deterministicModels].join(' and ')}`);
  return faults;
}

/** The members that the capabilities of an entry use. */
function usesOfCapabilities(
  entry: Partial<ProviderSetting>,
  kind: ProviderSetting['Kind'],
): readonly Member[] {
  const capabilities = capabilitiesOf(entry);
  const uses: Member[] = [];
  if (capabilities.includes('ai.embedding')) uses.push('Dimensions');
  if (kind === 'deterministic') return uses;
  if (capabilities.includes('ai.embedding')) {
    uses.push(...prefixes);
    if (kind === 'openai-compatible') uses.push('SendsDimensions');
  }
  if (capabilities.some((each) => each !== 'ai.embedding')) uses.push('QueueSeconds');
  const writes = capabilities.some((each) => each !== 'ai.embedding' && each !== 'ai.rerank');
  if (writes) uses.push('OutputTokensMax', 'OutputPrice');
  if (writes && kind === 'openai-compatible') uses.push('TokenParameter');
  return uses;
}

function capabilityFaults({ Kind, Capabilities }: Partial<ProviderSetting>): string[] {
  if (Capabilities === undefined) return [];
  const faults: string[] = [];
  if (Capabilities.length === 0) faults.push('has an empty list of Capabilities');
  if (new Set(Capabilities).size < Capabilities.length) faults.push('names a capability twice');
  if (Kind === 'vertex' && Capabilities.includes('ai.rerank'))
    faults.push('names ai.rerank, which the kind vertex does not have');
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
  if (entry === undefined || !capabilitiesOf(entry).includes('ai.embedding')) {
    const message = `names no provider: it may be ${[...builtIn].join(', ')}, or the Id of an entry of ${listKey} that gives vectors`;
    return [{ key, message }];
  }
  if (entry.Kind === 'deterministic' || providers.enableLiveTargets) return [];
  return [{ key, message: `names a provider over the network, and ${switchKey} is false` }];
};

/** The provider's entry names the length of its vectors. */
const ownDimensions: Rule = ({ embeddings: { provider, dimensions } }) => {
  if (dimensions === null || builtIn.has(provider)) return [];
  const message = `is set, but the entry of ${provider} in ${listKey} says how long its vectors are`;
  return [{ key: table.embeddings.dimensions.key, message }];
};

export const embeddingRules: readonly Rule[] = [soundProviders, hiddenKeys, knownProvider, ownDimensions];
