import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Group } from '../../contracts/generated/groups.ts';
import { loadOperations } from '../../contracts/generated/operations/load.ts';
import { loadValidators } from '../../contracts/generated/validators/load.ts';
import type { OperationEntry } from '../../contracts/operation.ts';
import { isOpen, isServed, needsApiKey, trustsWhoeverReachesIt } from '../config/rules.ts';
import type { Settings } from '../config/table.ts';
import type { CanonicalConfiguration } from '../groups/canonical/dependencies.ts';
import type { ServerDependencies } from '../groups/server/dependencies.ts';
import { createChain, type HandlerMap } from '../http/chain.ts';
import { type CallOperation, createCall } from '../http/in-process.ts';
import type { Chain } from '../http/message.ts';
import type { ChainOptions } from '../http/options.ts';
import { type Lazy, lazy } from '../kernel/lazy.ts';
import { createLog, type Log, type Severity } from '../kernel/log.ts';
import { PageTokens } from '../kernel/page-token.ts';
import type { RandomSource, World } from '../kernel/world.ts';
import { release } from '../release.ts';
import type { RecordStore } from '../store/port.ts';
import { sharedSecret } from '../store/secret.ts';
import type { Execution, ExecutionRole } from './execution.ts';
import { type FunctionName, loadFunction, servedFunctions } from './functions.ts';
import { composeIdentity, type Identity } from './identity.ts';
import { lazyStore } from './store.ts';

const RANDOM_POOL_BYTES = 4096;

/** The machine that the service runs on. The one place, beside the providers, that may ask it. */
export const machine: World = {
  clock: { now: () => Date.now() },
  random: pooledRandom(),
  timers: {
    after(delayMs, callback) {
      const timer = setTimeout(callback, delayMs);
      return () => clearTimeout(timer);
    },
  },
  http: (input, init) => fetch(input, init),
};

/** Draws from the system in larger amounts: a call for 16 bytes costs as much as one for thousands. */
function pooledRandom(): RandomSource {
  let pool = randomBytes(RANDOM_POOL_BYTES);
  let used = 0;
  return {
    bytes(size) {
      if (size > RANDOM_POOL_BYTES) return randomBytes(size);
      if (used + size > RANDOM_POOL_BYTES) {
        pool = randomBytes(RANDOM_POOL_BYTES);
        used = 0;
      }
      used += size;
      // A copy: what was handed out is nobody else's, and is not kept alive by the rest of the pool.
      return Uint8Array.prototype.slice.call(pool, used - size, used);
    },
  };
}

/** The service put together from its settings. */
export interface Service {
  /** The groups that the settings let exist. */
  readonly groups: readonly Group[];
  /** Opens the canonical store when it is not open yet. */
  readonly store: () => Promise<RecordStore>;
  readonly log: Log;
  /** Begins what runs beside the requests: handlers of this process, timers, what was left from before. */
  start(): Promise<void>;
  chain(groups: readonly Group[]): Promise<Chain>;
  /** Calls the operations of the groups in process, with the authorization and validation of an HTTP request. */
  call(groups: readonly Group[]): Promise<CallOperation>;
  /** The functions beside the groups; a process serves one of them and nothing else. */
  readonly functions: readonly FunctionName[];
  functionChain(name: FunctionName): Promise<Chain>;
  close(): Promise<void>;
}

export interface ComposeOptions {
  readonly world?: World;
  /** Whether the tables of PostgreSQL and MySQL are made where there are none (default). */
  readonly createStore?: boolean;
  /** What this process does for the runs beside answering calls; by default everything that the settings want of one. */
  readonly role?: ExecutionRole;
  /** Takes one line of the log, without its end. */
  readonly writeLog: (line: string) => void;
}

export function compose(
  settings: Settings,
  { world = machine, createStore = true, role = 'service', writeLog }: ComposeOptions,
): Service {
  const store = lazyStore(settings, world, createStore);
  const log = logAbove(settings.server.logLevel, createLog(writeLog));
  const execution = lazy(
    async () => {
      const { composeExecution } = await import('./execution.ts');
      return composeExecution({ settings, world, store: store.get, log, role });
    },
    (made) => made.stop(),
  );
  const groups = servedGroups(settings);
  const serving = async (wanted: readonly Group[]): Promise<ChainOptions> => {
    const parts = { settings, world, store, log, execution };
    const loaded = await Promise.all(wanted.map((group) => loadGroup[group](parts)));
    const operations = await Promise.all(wanted.map((group) => loadOperations[group]()));
    const entries = operations.flatMap((ofGroup) => Object.values(ofGroup));
    return chainOptions(parts, entries, loaded, await composeIdentity(settings, world, log));
  };
  return {
    groups,
    functions: groups.includes('execution') ? servedFunctions(settings) : [],
    store: store.get,
    log,
    async start() {
      if (groups.includes('execution')) await (await execution.get()).start();
    },
    chain: async (wanted) => createChain(await serving(wanted)),
    call: async (wanted) => createCall(await serving(wanted)),
    async functionChain(name) {
      const parts = { settings, world, store, log, execution };
      const loaded = await loadFunction(name, { settings, world, log, execution: await execution.get() });
      return createChain(chainOptions(parts, [], [loaded], loaded.identity));
    },
    async close() {
      await execution.close();
      await store.close();
    },
  };
}

interface Parts {
  readonly settings: Settings;
  readonly world: World;
  readonly store: Lazy<RecordStore>;
  readonly log: Log;
  readonly execution: Lazy<Execution>;
}

function chainOptions(
  { settings, world, log }: Parts,
  catalog: readonly OperationEntry[],
  served: readonly LoadedGroup[],
  { authenticator, authorizer, loopbackOnly }: Identity,
): ChainOptions {
  const { server, cors, rateLimit } = settings;
  const entries = [...catalog, ...served.flatMap(({ extra }) => extra)];
  return {
    operations: Object.fromEntries(entries.map((entry) => [entry.id, entry])),
    handlers: Object.assign({}, ...served.map(({ handlers }) => handlers)) as HandlerMap,
    validators: loadValidators,
    world,
    authenticator,
    authorizer,
    log,
    rateLimit: catalog.some(({ rateClass }) => rateClass !== null) ? rateLimit : null,
    trustedProxyHops: server.trustedProxyHops,
    cors,
    loopbackHostsOnly: loopbackOnly ?? trustsWhoeverReachesIt(settings),
    singleHeaders: credentialHeaders(settings),
    validateResponses: server.validateResponses,
    messageBytesMax: server.messageBytesMax,
  };
}

/** Headers that decide who is calling, and so may occur once. */
function credentialHeaders({ security, canonicalAccess, executionAccess }: Settings): readonly string[] {
  const names = [
    security.apiKeyHeader,
    canonicalAccess.developmentIdentityHeader,
    executionAccess.developmentIdentityHeader,
  ];
  return names.map((name) => name.toLowerCase());
}

interface LoadedGroup {
  readonly handlers: HandlerMap;
  /** What is served like an operation but is none of the contract. */
  readonly extra: readonly OperationEntry[];
}

/** Loads a group's code with the function that serves it, and no other group's. */
const loadGroup: Readonly<Record<Group, (parts: Parts) => Promise<LoadedGroup>>> = {
  async server(parts) {
    const [{ serverHandlers }, { serverInfoOperation, getServerInfo }, pages] = await Promise.all([
      import('../groups/server/handlers.ts'),
      import('../groups/server/server-info.ts'),
      loadDocs(parts.settings),
    ]);
    const dependencies = serverDependencies(parts);
    const serverInfo = getServerInfo({ release, docs: pages !== null });
    return {
      handlers: { ...serverHandlers(dependencies), [serverInfoOperation.id]: serverInfo, ...pages?.handlers },
      extra: [serverInfoOperation, ...(pages?.operations ?? [])],
    };
  },
  async canonical({ settings, store, world, log }) {
    const { canonicalHandlers, CopyGate, DeliveredRetention, OutboxWaits } = await import(
      '../groups/canonical/handlers.ts'
    );
    const pageTokens = new PageTokens(sharedSecret(store.get, world.random, 'page-tokens'));
    const waits = new OutboxWaits(world);
    const keptDays = settings.canonicalStore.deliveredEventRetentionDays;
    const retention = new DeliveredRetention({ keptDays, store: store.get, clock: world.clock, log });
    const configuration = canonicalConfiguration(settings);
    const own = { pageTokens, configuration, waits, retention, copies: new CopyGate() };
    const dependencies = { store: store.get, world, log, ...own };
    return { handlers: canonicalHandlers(dependencies), extra: [] };
  },
  async execution(parts) {
    const [{ executionHandlers }, execution] = await Promise.all([
      import('../groups/execution/handlers.ts'),
      parts.execution.get(),
    ]);
    return { handlers: executionHandlers(execution.dependencies), extra: [] };
  },
};

/** The build puts both folders beside the bundle, the guides as `docs/pages`. */
async function loadDocs(settings: Settings) {
  if (!settings.docs.enabled) return null;
  const { docs } = await import('../groups/server/docs/docs.ts');
  const { dirname, filename } = import.meta;
  const isSource = filename.endsWith('.ts');
  const reference = join(dirname, isSource ? '../docs' : 'docs');
  const guides = join(dirname, isSource ? '../../docs' : 'docs/pages');
  // Whoever leaves them out has none.
  const found = await readdir(guides, { recursive: true }).catch(() => []);
  return docs({
    release,
    readFile: (name) => readFile(join(reference, name)),
    guides: {
      paths: found.map((path) => path.replaceAll('\\', '/')),
      read: (path) => readFile(join(guides, path), 'utf8'),
    },
  });
}

/** What can be loaded is served, unless a setting says that it does not exist: a new group cannot be forgotten here. */
function servedGroups(settings: Settings): readonly Group[] {
  return (Object.keys(loadGroup) as Group[]).filter((group) => isServed(settings, group));
}

function canonicalConfiguration(settings: Settings): CanonicalConfiguration {
  const { service, canonicalStore, canonicalAccess, rateLimit } = settings;
  const identityPolicyCount = canonicalAccess.identityPolicies.length;
  return {
    development: service.environment === 'Development',
    provider: canonicalStore.provider,
    authenticationMode: canonicalAccess.authenticationMode,
    identityPolicyCount,
    // As in `compose-identity.ts`: without one, Development is open.
    tenantPoliciesEnforced: identityPolicyCount > 0,
    messageBytesMax: settings.server.messageBytesMax,
    rateLimit,
  };
}

function serverDependencies({ settings, world, store }: Parts): ServerDependencies {
  const { service, security, canonicalStore, rateLimit } = settings;
  return {
    world,
    release,
    development: service.environment === 'Development',
    canonical: canonicalStore.enabled
      ? { provider: canonicalStore.provider, store: store.get, open: isOpen(settings), rateLimit }
      : null,
    apiKey: { required: needsApiKey(settings), header: security.apiKeyHeader },
    documents: {
      openApi: async () =>
        (await import('../../contracts/generated/openapi/svc.json', { with: { type: 'json' } })).default,
      schemas: async () =>
        (await import('../../contracts/generated/schemas/svc-public.schema.json', { with: { type: 'json' } }))
          .default,
    },
  };
}

const severities: readonly Severity[] = ['DEBUG', 'INFO', 'WARNING', 'ERROR'];

function logAbove(level: Settings['server']['logLevel'], log: Log): Log {
  const least = severities.indexOf(level.toUpperCase() as Severity);
  return (event) => {
    if (severities.indexOf(event.severity) >= least) log(event);
  };
}
