import type { OperationEntry } from '../../contracts/operation.ts';
import { identityParts } from '../config/identity-parts.ts';
import { isProtectedByNetworkOnly } from '../config/rules.ts';
import type { Settings } from '../config/table.ts';
import type { ChainOptions, GroupValidators, HandlerMap } from '../http/options.ts';
import { copyLanesOf, inCopyLanes } from './copy-lanes.ts';
import type { BodyLimit, ComposedGroup, GroupParts, LoadedGroup } from './group.ts';
import { composeIdentity, type Identity } from './identity.ts';
import type { LayerParts } from './layer.ts';
import { loadOf, mayBeServedFirst } from './load-class.ts';

/** Loads the code, the operations and the validators of the groups, and no others. */
export async function groupsOptions(
  parts: GroupParts,
  groups: readonly ComposedGroup[],
): Promise<ChainOptions> {
  const { settings, world, log } = parts;
  const [served, operations, identity] = await Promise.all([
    Promise.all(groups.map(async ({ module }) => (await module()).load(parts))),
    Promise.all(groups.map((group) => group.operations())),
    composeIdentity(settings, world, log),
  ]);
  const options = chainOptions(parts, {
    operations: operations.flatMap((ofGroup) => Object.values(ofGroup)),
    served,
    validators: Object.fromEntries(groups.map(({ name, validators }) => [name, validators])),
    identity,
  });
  const handlers = inCopyLanes(options.handlers, Object.values(options.operations), copyLanesOf(parts));
  return { ...options, handlers };
}

interface Served {
  /** The entries of the contract. */
  readonly operations: readonly OperationEntry[];
  readonly served: readonly LoadedGroup[];
  readonly validators: Readonly<Record<string, () => Promise<GroupValidators>>>;
  readonly identity: Identity;
}

export function chainOptions(
  { settings, world, log, damage }: Pick<LayerParts, 'settings' | 'world' | 'log' | 'damage'>,
  what: Served,
): ChainOptions {
  const { service, server, cors } = settings;
  const { rateLimit, executionRateLimit, workerRateLimit, publicRateLimit, recordRateLimit } = settings;
  const { operations, served, validators, identity } = what;
  const bodyLimits: Readonly<Record<string, BodyLimit>> = Object.assign(
    {},
    ...served.map((group) => group.bodyLimits),
  );
  const entries = [
    ...operations.map((entry) => bounded(entry, bodyLimits[entry.id], server.messageBytesMax)),
    ...served.flatMap(({ extra }) => extra),
  ];
  return {
    operations: Object.fromEntries(entries.map((entry) => [entry.id, entry])),
    handlers: Object.assign({}, ...served.map(({ handlers }) => handlers)) as HandlerMap,
    validators,
    world,
    authenticator: identity.authenticator,
    authorizer: identity.authorizer,
    log,
    sawFailure: damage.saw,
    rateLimit: entries.some(({ rateClass }) => rateClass !== null) ? rateLimit : null,
    rateLimits: {
      execution: { ...executionRateLimit, queueLimit: 0, isWeighed: true },
      worker: { ...workerRateLimit, queueLimit: 0, isWeighed: true },
      records: { ...recordRateLimit, queueLimit: 0, isWeighed: true },
      public: { ...publicRateLimit, queueLimit: 0, isWeighed: true },
    },
    refusalDelayMs: server.refusalDelayMs,
    trustedProxyHops: server.trustedProxyHops,
    cors,
    refuseForeignOrigins: service.environment === 'Development',
    loopbackHostsOnly: identity.loopbackOnly ?? isProtectedByNetworkOnly(settings),
    singleHeaders: credentialHeaders(settings),
    validateResponses: server.validateResponses,
    messageBytesMax: server.messageBytesMax,
    overload: { atWorkMax: server.requestsAtWorkMax, loadOf, mayBeServedFirst },
    bytesInFlight: { perProcess: server.bytesInFlightMax, perCaller: server.bytesInFlightPerCallerMax },
  };
}

function bounded(
  entry: OperationEntry,
  limit: BodyLimit | undefined,
  messageBytesMax: number | null,
): OperationEntry {
  const { bodyLimitBytes } = entry;
  if (limit === undefined || bodyLimitBytes === null || limit.bytes >= bodyLimitBytes) return entry;
  // A larger value of the setting helps only where the platform in front carries such a message.
  const isOfSetting = messageBytesMax === null || limit.bytes <= messageBytesMax;
  const advice = `The setting ${limit.setting} of the service is ${limit.bytes}.`;
  const overLimit = { problem: 'payload_too_large', advice };
  return { ...entry, bodyLimitBytes: limit.bytes, ...(isOfSetting ? { overLimit } : {}) };
}

/** Headers that identify the caller. Each may occur once. */
function credentialHeaders({ security, ...settings }: Settings): readonly string[] {
  const names = [
    security.apiKeyHeader,
    ...identityParts.map((part) => settings[part].developmentIdentityHeader),
  ];
  return names.map((name) => name.toLowerCase());
}
