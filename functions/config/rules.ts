import {
  authorizationClasses,
  type Group,
  groupClasses,
  jobGroups,
} from '../../contracts/generated/groups.ts';
import { accessRules } from './access-rules.ts';
import { hasApiKeys } from './api-key-settings.ts';
import { artifactRules } from './artifact-rules.ts';
import { embeddingRules } from './embedding-rules.ts';
import { executionRules } from './execution-rules.ts';
import type { Fault } from './fault.ts';
import { identityParts } from './identity-parts.ts';
import { isLoopback } from './loopback.ts';
import { mcpRules } from './mcp-rules.ts';
import { providerRules } from './provider-rules.ts';
import { recordRules } from './record-rules.ts';
import type { Rule, SourceOf } from './rule.ts';
import type { Host } from './setting.ts';
import { type Settings, table } from './table.ts';

export function crossFaults(settings: Settings, host: Host, sourceOf: SourceOf): Fault[] {
  return rules
    .flatMap((rule) => rule(settings, host, (key) => sourceOf(key) !== undefined, sourceOf))
    .map((fault) => ({ ...fault, source: sourceOf(fault.key) ?? 'default' }));
}

/** Whether callers must present an API key. */
export function needsApiKey(settings: Settings): boolean {
  return settings.security.requireApiKey ?? hasApiKeys(settings);
}

/** The facts of the catalog that decide, with the settings, whether a group is served. */
interface GroupFacts {
  readonly name: string;
  /** The policies of its authorization classes. */
  readonly policies: readonly (string | null)[];
  readonly admitsJobs: boolean;
}

/** A group that the catalog does not have is one of a test: nothing switches it off. */
function factsOf(name: string): GroupFacts {
  if (!Object.hasOwn(groupClasses, name)) return { name, policies: [], admitsJobs: false };
  const group = name as Group;
  const policies = groupClasses[group].map((each) => authorizationClasses[each].policy);
  return { name, policies, admitsJobs: jobGroups.includes(group) };
}

/** Whether the settings let the operations of the group exist. */
export function isServed(settings: Settings, group: string): boolean {
  return isServedBy(settings, factsOf(group));
}

/**
 * The same of the facts of a group. Jobs of a group would start the runtime, also where no caller may use its operations.
 * @testonly
 */
export function isServedBy(settings: Settings, { name, policies, admitsJobs }: GroupFacts): boolean {
  const { service, canonicalStore, execution, executionAccess } = settings;
  if (policies.includes('records')) return recordsOff(settings) === null;
  if (policies.includes('providers')) return providersOff(settings) === null;
  if (policies.includes('canonical') && !canonicalStore.enabled) return false;
  if (name !== 'execution') return execution.enabled || !admitsJobs;
  // Outside Development no operation is open to every caller; a deployment without execution policies has not asked for the
  // runtime.
  const named = executionAccess.identityPolicies.length > 0;
  return execution.enabled && (service.environment === 'Development' || named);
}

/** Whether the group serves collections and records: the catalog gives such a group the policy `records`. */
export function isRecordGroup(group: string): boolean {
  return factsOf(group).policies.includes('records');
}

/**
 * The reason why collections and records are off; `null` when they are on. Without record policies they are on in
 * Development only, and only if no other part has policies: policies of one part must not leave another open.
 */
export function recordsOff(settings: Settings): 'disabled' | 'no-runtime' | 'no-policies' | null {
  if (!settings.records.enabled) return 'disabled';
  if (!settings.execution.enabled) return 'no-runtime';
  return isOpenOrGranted(settings, 'recordAccess') ? null : 'no-policies';
}

/** Why the operations on providers do not exist; `null` if they exist. The same holds for their policies as for those of records. */
export function providersOff(settings: Settings): 'no-runtime' | 'no-policies' | null {
  if (!settings.execution.enabled) return 'no-runtime';
  return isOpenOrGranted(settings, 'providerAccess') ? null : 'no-policies';
}

function isOpenOrGranted(settings: Settings, part: 'recordAccess' | 'providerAccess'): boolean {
  if (settings[part].identityPolicies.length > 0) return true;
  const isGuarded = identityParts.some((each) => settings[each].identityPolicies.length > 0);
  return settings.service.environment === 'Development' && !isGuarded;
}

/** Why the operations on runs do not exist although the runtime is enabled; `null` if they exist. */
export function unservedRuns(
  settings: Settings,
): { readonly reason: string; readonly remedy: string } | null {
  if (!settings.execution.enabled || isServed(settings, 'execution')) return null;
  const [policies, enabled] = [table.executionAccess.identityPolicies, table.execution.enabled];
  return {
    reason: `Runs are not served: outside Development they need ${policies.key}.`,
    remedy: `Set them (docs/access.md), or set ${enabled.key} to false.`,
  };
}

type SettingsName = NonNullable<(typeof authorizationClasses)[keyof typeof authorizationClasses]['settings']>;

/** The part of the settings that holds a section of access settings: `canonicalAccess` holds `Server:CanonicalAccess`. */
export type AccessPart = SettingsName extends `Server:${infer Name}` ? Uncapitalize<Name> : never;

function partOf(section: SettingsName): AccessPart {
  const name = section.slice('Server:'.length);
  return `${name.charAt(0).toLowerCase()}${name.slice(1)}` as AccessPart;
}

/** The settings part with the identity policies of each authorization class that has any, from the catalog. */
export const accessParts: Readonly<Record<string, AccessPart>> = Object.fromEntries(
  Object.entries(authorizationClasses).flatMap(([name, { settings }]) =>
    settings === null ? [] : [[name, partOf(settings)]],
  ),
);

interface Served {
  readonly group: Group;
  readonly authorizationClass: string;
}

const catalog: readonly Served[] = (Object.keys(groupClasses) as Group[]).flatMap((group) =>
  groupClasses[group].map((authorizationClass) => ({ group, authorizationClass })),
);

/**
 * Whether every caller may call some operation without a credential. A class of operations without a policy is open in
 * Development, even where another class has policies. A class without served operations opens nothing.
 */
export function isOpen(settings: Settings, contract = catalog): boolean {
  if (settings.service.environment !== 'Development' || needsApiKey(settings)) return false;
  return contract.some(({ group, authorizationClass }) => {
    if (authorizationClass === 'anonymous' || !isServed(settings, group)) return false;
    const part = accessParts[authorizationClass];
    return part === undefined || settings[part].identityPolicies.length === 0;
  });
}

/** Whether only the network protects the service: every caller that reaches it may call operations. */
export function isProtectedByNetworkOnly(settings: Settings): boolean {
  if (settings.server.allowRemoteDevelopment) return false;
  return isOpen(settings) || believesHeaders(settings);
}

const requiredKey: Rule = (settings) => {
  if (settings.security.requireApiKey !== true || hasApiKeys(settings)) return [];
  const ways = [table.security.apiKeyHashes, table.security.apiKeyFile, table.security.apiKey];
  const message = `is true, but there is no ${ways.map(({ key }) => key).join(', ')}`;
  return [{ key: table.security.requireApiKey.key, message }];
};

// HTTP, the platform or the service uses these headers for other values than an API key or an identity.
const takenHeaders = new Set(
  'authorization x-serverless-authorization cookie host connection content-type content-length content-encoding transfer-encoding te trailer upgrade expect accept accept-encoding origin referer user-agent via forwarded idempotency-key x-idempotency-key x-correlation-id traceparent tracestate baggage'.split(
    ' ',
  ),
);
const takenPrefixes =
  /^(x-forwarded-|x-goog-|x-google-|x-apigateway-|x-cloud|mcp-|sec-|proxy-|access-control-|if-)/;

const ambiguousHeader: Rule = ({ security, ...settings }) => {
  const message = 'names a header that carries something else';
  const keyHeader = security.apiKeyHeader.toLowerCase();
  const faults = isTaken(keyHeader) ? [{ key: table.security.apiKeyHeader.key, message }] : [];
  for (const part of identityParts) {
    const name = settings[part].developmentIdentityHeader.toLowerCase();
    const { key } = table[part].developmentIdentityHeader;
    if (isTaken(name) || name === keyHeader) faults.push({ key, message });
  }
  return faults;
};

function isTaken(header: string): boolean {
  return takenHeaders.has(header) || takenPrefixes.test(header);
}

/** Whether the service believes unproven names and asks for no key. */
function believesHeaders(settings: Settings): boolean {
  if (settings.service.environment !== 'Development' || needsApiKey(settings)) return false;
  return identityParts.some((part) => {
    const { authenticationMode, identityPolicies } = settings[part];
    return authenticationMode === 'development-header' && identityPolicies.length > 0;
  });
}

const openOnLoopbackOnly: Rule = (settings, host) => {
  if (!isProtectedByNetworkOnly(settings)) return [];
  const remedy = `set an API key, or ${table.server.allowRemoteDevelopment.key} to true to let everybody in`;
  if (host === 'functions') {
    if (settings.service.cloudService === null) return [];
    return [
      {
        key: table.service.environment.key,
        message: `Development would open the service to everybody; ${remedy}`,
      },
    ];
  }
  if (isLoopback(settings.server.host)) return [];
  return [
    {
      key: table.server.host.key,
      message: `is reachable from other machines, and Development is open; ${remedy}`,
    },
  ];
};

/** Refuses a connection string that the provider ignores: the data would go to another store than the operator expects. */
const connection: Rule = ({ canonicalStore }) => {
  const { enabled, provider, connectionString } = canonicalStore;
  const remote = provider === 'postgresql' || provider === 'mysql';
  if (!enabled || remote === (connectionString !== null)) return [];
  const message = remote
    ? `is missing: the provider ${provider} needs one`
    : `is set, but the provider ${provider} takes none: set ${table.canonicalStore.provider.key}`;
  return [{ key: table.canonicalStore.connectionString.key, message }];
};

const addresses: Readonly<Record<string, RegExp>> = {
  postgresql: /^postgres(ql)?:/i,
  mysql: /^(mysql|mariadb):/i,
};

/** Refuses the address of one database with the provider of another. The message repeats no part of the secret. */
const addressOfProvider: Rule = ({ canonicalStore }) => {
  const { enabled, provider, connectionString } = canonicalStore;
  const text = connectionString?.reveal() ?? '';
  const other = Object.keys(addresses).find((name) => addresses[name]?.test(text) === true);
  if (!enabled || addresses[provider] === undefined || other === undefined || other === provider) return [];
  const message = `is an address of ${other}, but the provider is ${provider}: set ${table.canonicalStore.provider.key}`;
  return [{ key: table.canonicalStore.connectionString.key, message }];
};

const rules: readonly Rule[] = [
  requiredKey,
  ambiguousHeader,
  connection,
  addressOfProvider,
  ...accessRules,
  ...executionRules,
  ...recordRules,
  ...providerRules,
  ...artifactRules,
  ...embeddingRules,
  ...mcpRules,
  openOnLoopbackOnly,
];
