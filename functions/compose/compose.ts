import { isServed, unservedRuns } from '../config/rules.ts';
import { type Settings, table } from '../config/table.ts';
import { createChain } from '../http/chain.ts';
import type { CallOperation } from '../http/in-process.ts';
import type { Chain } from '../http/message.ts';
import type { JobPlugin } from '../jobs/job-plugin.ts';
import { lazy } from '../kernel/lazy.ts';
import { createLog, type Log, type LogFormat, type Severity } from '../kernel/log.ts';
import type { World } from '../kernel/world.ts';
import { DamageLog } from '../store/damage.ts';
import type { HashedBodies } from '../store/hashed-bodies.ts';
import type { RecordStore } from '../store/port.ts';
import { catalogGroups, collectionsOf, jobsOf, upkeepOf } from './catalog-groups.ts';
import { chainOptions, groupsOptions } from './chain.ts';
import type { Execution, ExecutionParts, ExecutionRole } from './execution.ts';
import { type FunctionName, loadFunction, servedFunctions } from './functions.ts';
import type { ComposedGroup, GroupParts } from './group.ts';
import type { LayerParts } from './layer.ts';
import { machine } from './machine.ts';
import { CompositionFault } from './module.ts';
import { sourcePlaces } from './source-places.ts';
import { lazyStore } from './store.ts';

/** The service put together from its settings. */
export interface Service {
  /** Names of the groups that the settings enable, in the order of the documentation. */
  readonly groups: readonly string[];
  /** Opens the canonical store when it is not open yet. */
  readonly store: () => Promise<RecordStore>;
  readonly log: Log;
  /** Starts the work beside requests: handlers of this process, timers, and runs that an earlier process left. */
  start(): Promise<void>;
  chain(groups: readonly string[]): Promise<Chain>;
  /** All that one process serves: the enabled groups, and the MCP endpoint where the settings ask for it. */
  wholeChain(): Promise<Chain>;
  /** Calls the operations of the groups in process, with the authorization and validation of an HTTP request. */
  call(groups: readonly string[]): Promise<CallOperation>;
  /** The functions beside the groups; a process serves one of them and nothing else. */
  readonly functions: readonly FunctionName[];
  functionChain(name: FunctionName): Promise<Chain>;
  /** The stored bodies that have a hash, of the groups that the settings turn off too. */
  bodies(): Promise<readonly HashedBodies[]>;
  /** The process will stop once its callers are answered. */
  drain(): void;
  /** How many runs this process executes now. */
  runsUnderWay(): number;
  close(): Promise<void>;
}

export interface ComposeOptions {
  readonly world?: World;
  /** Whether missing tables of PostgreSQL and MySQL are created; true by default. */
  readonly createStore?: boolean;
  /** Whether local files are opened so that no byte of them changes; false by default. Nothing can be written then. */
  readonly readOnly?: boolean;
  /** The part of this process in the execution of runs; by default all that the settings ask of one process. */
  readonly role?: ExecutionRole;
  /** Groups beside those of the catalog: tests compose a fixture group with them. */
  readonly extraGroups?: readonly ComposedGroup[];
  /** Tests watch the calls of the store. */
  readonly watchStore?: (store: RecordStore) => RecordStore;
  /** Takes one line of the log, without its end. */
  readonly writeLog: (line: string) => void;
}

export function compose(settings: Settings, given: ComposeOptions): Service {
  const { world = machine, createStore = true, readOnly = false, role = 'service' } = given;
  const { extraGroups = [], writeLog } = given;
  const known = [...catalogGroups, ...extraGroups];
  const enabled = known.filter(({ name }) => isServed(settings, name));
  const names = enabled.map(({ name }) => name);
  const announce = createLog(writeLog, world.clock, sourcePlaces(), logFormat(settings));
  const log = logAbove(settings.server.logLevel, announce);
  const base = { settings, world, log, damage: new DamageLog(log), readOnly, layers: new Map() };
  // The store knows the collections of disabled groups too: their records stay readable for copies.
  const opening = { ...base, create: createStore, collections: () => collectionsOf(known) };
  const store = lazyStore({ ...opening, ...(given.watchStore && { watch: given.watchStore }) });
  const unserved = unservedRuns(settings);
  const layered: LayerParts = { ...base, store };
  let composed: Execution | null = null;
  const execution = lazy(
    async () => (composed = await composeRuns(parts, enabled, { announce, role, serving })),
    (made) => made.stop(),
  );
  const parts: GroupParts = { ...layered, execution };
  const serving = (wanted: readonly string[]) =>
    groupsOptions(
      parts,
      wanted.map((name) => groupNamed(known, name)),
    );
  return {
    groups: names,
    functions: [
      ...(names.includes('execution') ? servedFunctions(settings) : []),
      ...(settings.mcp.enabled ? (['mcp'] as const) : []),
    ],
    store: store.get,
    log,
    async start() {
      if (unserved !== null) log({ severity: 'WARNING', message: `${unserved.reason} ${unserved.remedy}` });
      // Jobs of groups need the runtime even where no caller may use its own operations.
      const needed = names.includes('execution') || (await jobsOf(parts, enabled)).length > 0;
      if (needed) await (await execution.get()).start();
    },
    chain: async (wanted) => createChain(await serving(wanted)),
    async wholeChain() {
      const options = await serving(names);
      if (!settings.mcp.enabled) return createChain(options);
      const { chainWithMcp } = await import('./mcp.ts');
      return chainWithMcp(parts, options);
    },
    async call(wanted) {
      // Requests do not need it.
      const { createCall } = await import('../http/in-process.ts');
      return createCall(await serving(wanted));
    },
    async functionChain(name) {
      if (name === 'mcp') {
        const { mcpChain, mcpGroups } = await import('./mcp.ts');
        return mcpChain(parts, await serving(await mcpGroups(names)));
      }
      const loaded = await loadFunction(name, parts, await execution.get());
      const { identity } = loaded;
      const options = chainOptions(parts, { operations: [], served: [loaded], validators: {}, identity });
      return createChain(options);
    },
    async bodies() {
      const { hashedBodies } = await import('./hashed-bodies.ts');
      return hashedBodies(layered);
    },
    drain: () => composed?.drain(),
    runsUnderWay: () => composed?.underWay() ?? 0,
    async close() {
      await execution.close();
      await store.close();
    },
  };
}

type RunsParts = Pick<ExecutionParts, 'role'> & Required<Pick<ExecutionParts, 'announce' | 'serving'>>;

async function composeRuns(
  parts: GroupParts,
  enabled: readonly ComposedGroup[],
  own: RunsParts,
): Promise<Execution> {
  const [{ composeExecution }, { bodyCheck }] = await Promise.all([
    import('./execution.ts'),
    import('./body-check.ts'),
  ]);
  const jobs = await jobsOf(parts, enabled);
  if (jobs.length > 0 && !parts.settings.execution.enabled) throw new CompositionFault(needsRuntime(jobs));
  const upkeep = [...(await upkeepOf(parts, enabled)), bodyCheck(parts)];
  return composeExecution({ ...parts, ...own, jobs, upkeep });
}

function needsRuntime(jobs: readonly JobPlugin[]): string {
  const plugins = jobs.map(({ pluginId }) => pluginId).join(', ');
  return `${table.execution.enabled.key} is false, but the execution runtime executes the jobs of ${plugins}`;
}

function groupNamed(groups: readonly ComposedGroup[], wanted: string): ComposedGroup {
  const found = groups.find(({ name }) => name === wanted);
  if (found === undefined) throw new Error(`there is no group ${wanted}`);
  return found;
}

function logFormat({ service, server }: Settings): LogFormat {
  return server.logFormat ?? (service.cloudService === null ? 'otel' : 'google');
}

const severities: readonly Severity[] = ['DEBUG', 'INFO', 'WARNING', 'ERROR'];

function logAbove(level: Settings['server']['logLevel'], log: Log): Log {
  const least = severities.indexOf(level.toUpperCase() as Severity);
  return (event) => {
    if (severities.indexOf(event.severity) >= least) log(event);
  };
}
