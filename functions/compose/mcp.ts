import type { OperationEntry } from '../../contracts/operation.ts';
import { isOffered } from '../config/settings/mcp.ts';
import type { Settings } from '../config/table.ts';
import { untilEnded } from '../groups/execution/library/until-ended.ts';
import { createChain } from '../http/chain.ts';
import { createCall } from '../http/in-process.ts';
import type { Chain } from '../http/message.ts';
import type { ChainOptions } from '../http/options.ts';
import { createSharedCapacity, type SharedCapacity } from '../http/shared-capacity.ts';
import { createMcpAuthentication } from '../mcp/authentication.ts';
import { createMcpEndpoint } from '../mcp/endpoint.ts';
import { mcpSettings } from '../mcp/exchange.ts';
import { MCP_PATH, METADATA_PATH, type ProtectedResource } from '../mcp/protected-resource.ts';
import { revisions } from '../mcp/revisions.ts';
import type { AwaitEnd } from '../mcp/service/run-tasks.ts';
import { createServiceCatalog, type McpDefinition } from '../mcp/service/service-catalog.ts';
import { release } from '../release.ts';
import type { Run } from '../runs/run.ts';
import type { GroupParts } from './group.ts';
import { loadOf } from './load-class.ts';
import { pageTokensOf } from './page-tokens.ts';

/** The MCP endpoint, put together beside the operations that it calls. */

const RATE_CLASS = 'mcp';

/** The operations of `options` over REST, and the endpoint beside them. All requests share the limits of the process. */
export async function chainWithMcp(parts: GroupParts, options: ChainOptions): Promise<Chain> {
  const { mounted, shared, whole } = await composeMcp(parts, options);
  return mounted(createChain(whole, shared));
}

/** The endpoint alone: the operations of `options` answer in process only. */
export async function mcpChain(parts: GroupParts, options: ChainOptions): Promise<Chain> {
  const { mounted, shared, whole } = await composeMcp(parts, options);
  return mounted(createChain({ ...whole, operations: {}, handlers: {} }, shared));
}

/** The groups among `served` that the endpoint calls. */
export async function mcpGroups(served: readonly string[]): Promise<readonly string[]> {
  const { definitions } = await definitionsOf();
  return served.filter((name) => definitions.some(({ group }) => group === name));
}

interface ComposedMcp {
  readonly mounted: (others: Chain) => Chain;
  readonly shared: SharedCapacity;
  readonly whole: ChainOptions;
}

async function composeMcp(parts: GroupParts, options: ChainOptions): Promise<ComposedMcp> {
  const { mcp } = parts.settings;
  const rateLimits = { ...options.rateLimits, [RATE_CLASS]: { ...rateLimitOf(mcp), isWeighed: true } };
  const whole: ChainOptions = { ...options, rateLimits, rateClasses: [RATE_CLASS] };
  const shared = createSharedCapacity(whole);
  const endpoint = await endpointOf(parts, whole, shared);
  const described = protectedResourceOf(mcp) !== undefined;
  const mounted = (others: Chain): Chain => {
    const serve: Chain = (request) => {
      const [path] = request.target.split('?', 1);
      const isOurs = path === MCP_PATH || (described && path === METADATA_PATH);
      return isOurs ? endpoint(request) : others(request);
    };
    const { refuseEarly } = others;
    return refuseEarly === undefined ? serve : Object.assign(serve, { refuseEarly });
  };
  return { mounted, shared, whole };
}

async function endpointOf(parts: GroupParts, options: ChainOptions, shared: SharedCapacity): Promise<Chain> {
  const { settings, world, log } = parts;
  const { mcp } = settings;
  const definitions = await definitionsOf();
  const tokens = pageTokensOf(parts);
  const { authenticator, authorizer, operations } = options;
  const described = protectedResourceOf(mcp);
  return createMcpEndpoint({
    catalog: createServiceCatalog({
      definitions,
      operations,
      isEnabled: (id) => isOffered(mcp, id),
      call: createCall(options),
      authorizer,
      clock: world.clock,
      tokens,
      serverInfo: { name: release.service, version: release.version },
      lengthMax: mcp.resultCharactersMax,
      textContent: mcp.textContent,
      plainTasks: mcp.plainTasks,
      awaitEnd: awaitEndIn(parts),
      retainedMsMin: settings.execution.minRetainedHours * 3_600_000,
    }),
    tokens,
    authenticate: createMcpAuthentication(
      authenticator,
      offeredOf(operations, definitions.definitions),
      described !== undefined,
    ),
    world,
    log,
    settings: { ...mcpSettings, revisions: revisions.filter((each) => mcp.revisions.includes(each)) },
    bodyBytesMax: mcp.bodyBytesMax,
    headerLimits: { countMax: mcp.headerCountMax, bytesMax: mcp.headerBytesMax },
    singleHeaders: options.singleHeaders ?? [],
    allowedOrigins: settings.cors.allowedOrigins,
    loopbackHostsOnly: options.loopbackHostsOnly === true,
    capacity: {
      ...shared,
      rateClass: RATE_CLASS,
      trustedProxyHops: settings.server.trustedProxyHops,
      loadOf,
    },
    ...(described === undefined ? {} : { protectedResource: described }),
  });
}

/** Waits where reads of runs wait, and in the same places. */
function awaitEndIn({ execution }: GroupParts): AwaitEnd {
  return async ({ runId, waitMs, reached }, context) => {
    const { jobs } = await execution.get();
    const look = ({ progress }: Run): void => {
      if (progress !== null) reached(progress);
    };
    await untilEnded(jobs.runtime, { runId, waitMs, look }, context);
  };
}

async function definitionsOf() {
  const found = await import('../../contracts/generated/mcp/definitions.json', { with: { type: 'json' } });
  // The generator and its tests see to the types of the definitions.
  const definitions = found.default.definitions as unknown as readonly McpDefinition[];
  return { contentVersion: found.default.contentVersion, definitions };
}

/** The operations whose authorization classes may prove a caller. */
function offeredOf(
  operations: Readonly<Record<string, OperationEntry>>,
  definitions: readonly McpDefinition[],
): readonly OperationEntry[] {
  return definitions.flatMap(({ operationId }) => {
    const entry = operations[operationId];
    return entry === undefined ? [] : [entry];
  });
}

function rateLimitOf({ permitLimit, windowSeconds }: Settings['mcp']) {
  return { permitLimit, windowSeconds, queueLimit: 0 };
}

function protectedResourceOf({
  resource,
  authorizationServers,
  scopesSupported,
}: Settings['mcp']): ProtectedResource | undefined {
  return resource === null ? undefined : { resource, authorizationServers, scopesSupported };
}
