import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { catalogGroups, jobsOf } from '../../functions/compose/catalog-groups.ts';
import { compose } from '../../functions/compose/compose.ts';
import type { ExecutionRole } from '../../functions/compose/execution.ts';
import { machine } from '../../functions/compose/machine.ts';
import { faultsText } from '../../functions/config/fault.ts';
import { loadConfiguration } from '../../functions/config/load.ts';
import type { Settings } from '../../functions/config/table.ts';
import { TIMEOUT_MS as READINESS_TIMEOUT_MS } from '../../functions/groups/server/attempt.ts';
import { type InjectedRequest, type InjectedResponse, inject } from '../../functions/http/host-inject.ts';
import type { Chain } from '../../functions/http/message.ts';
import type { JobPlugin } from '../../functions/jobs/job-plugin.ts';
import type { World } from '../../functions/kernel/world.ts';
import { DamageLog } from '../../functions/store/damage.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { WriteSignal } from './write-signal.ts';

export interface ServiceOptions {
  /** By their documented keys, such as `Server:ApiKeys:0`. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly world?: World;
  /** The groups to serve; all that the settings let exist where none are named. */
  readonly groups?: readonly string[];
  /** The database of another service, which stays when this one is closed. */
  readonly folder?: string;
  /** In place of the SQLite database of the folder. */
  readonly store?: RecordStore;
  readonly watchStore?: (store: RecordStore) => RecordStore;
  /** The part of the process in the execution of runs; by default it executes them. */
  readonly role?: ExecutionRole;
}

/** The real service over a database of its own, called in process. */
export interface RunningService {
  readonly settings: Settings;
  /** Holds the database. */
  readonly folder: string;
  /** The log, a line each. */
  readonly lines: string[];
  /** The chain that a host serves. */
  readonly chain: Chain;
  readonly call: (request: InjectedRequest) => Promise<InjectedResponse>;
  /** The answer of a read of a job or a run, once it has ended; it is read again after each write. */
  readonly ended: (request: InjectedRequest) => Promise<InjectedResponse>;
  /** Starts the work beside requests: runs are executed from then on. */
  start(): Promise<void>;
  /** The first step of a host at the signal to stop. */
  drain(): void;
  /** Removes the folder too, unless it is that of another service. */
  close(): Promise<void>;
}

// One address sends all the requests, so its permit limit is raised, here in the open, and so is the ceiling of its runs.
// Every answer is held against its model: one that breaks it is answered with 500, which every oracle finds.
const common = {
  'ExecutionRuntime:MaxActiveRuns': '1000000',
  // The handler of the contract's examples.
  'ExecutionRuntime:ExternalHandlers:0:HandlerId': 'invoice.render',
  'Server:CanonicalRateLimit:PermitLimit': '100000',
  'Server:CanonicalRateLimit:WindowSeconds': '1',
  'Server:ExecutionRateLimit:PermitLimit': '1000000',
  'Server:WorkerRateLimit:PermitLimit': '1000000',
  'Server:PublicRateLimit:PermitLimit': '1000000',
  'Server:RecordRateLimit:PermitLimit': '1000000',
  'Server:ValidateResponses': 'true',
  'Server:LogLevel': 'error',
};

/** From here on a timer is the patience of the service with its database, and not what a request asked to wait for. */
const patienceMs = 60_000;

/** Readiness waits for its stores, which take longer on a busy machine. */
const isPatience = (delayMs: number): boolean => delayMs >= patienceMs || delayMs === READINESS_TIMEOUT_MS;

/** The machine, with time passing a hundred times as fast for code that waits: generated requests ask to wait. */
export const hurried: World = {
  ...machine,
  timers: {
    after: (delayMs, callback) =>
      machine.timers.after(isPatience(delayMs) ? delayMs : delayMs / 100, callback),
  },
};

function ofProviders(given: Readonly<Record<string, string>>, isWanted: boolean) {
  return Object.entries(given).filter(([key]) => /^Providers:\d+:/.test(key) === isWanted);
}

export async function startService(options: ServiceOptions = {}): Promise<RunningService> {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'svc-security-'));
  const given = { ...common, 'Server:DataDirectory': folder, ...options.settings };
  const { settings, faults } = loadConfiguration({
    host: 'embedded',
    // Keys of providers come from the environment only, and an entry from one source.
    env: Object.fromEntries(
      ofProviders(given, true).map(([key, value]) => [key.replaceAll(':', '__'), value]),
    ),
    argv: ofProviders(given, false).map(([key, value]) => `--${key}=${value}`),
    readFile: () => undefined,
  });
  if (settings === undefined) throw new Error(faultsText(faults));
  const lines: string[] = [];
  const writes = new WriteSignal();
  const service = compose(settings, {
    world: options.world ?? machine,
    ...(options.role === undefined ? {} : { role: options.role }),
    writeLog: (line) => void lines.push(line),
    watchStore(opened) {
      if (options.store !== undefined) void opened.close();
      const store = writes.watch(options.store ?? opened);
      return options.watchStore?.(store) ?? store;
    },
  });
  const { groups } = options;
  const chain = groups === undefined ? await service.wholeChain() : await service.chain(groups);
  const call = (request: InjectedRequest) => inject(chain, request);
  return {
    settings,
    folder,
    lines,
    chain,
    call,
    async ended(request) {
      for (;;) {
        const { next } = writes;
        const answer = await call(request);
        const { status }: { readonly status?: unknown } = answer.body === '' ? {} : answer.json();
        if (!['queued', 'waiting', 'running'].includes(String(status).toLowerCase())) return answer;
        await next;
      }
    },
    start: () => service.start(),
    drain: () => service.drain(),
    async close() {
      await service.close();
      if (options.folder === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The families of jobs of all groups. Nothing is opened. */
export function builtInJobs({ settings }: Pick<RunningService, 'settings'>): Promise<readonly JobPlugin[]> {
  const closed = {
    get: () => Promise.reject(new Error('nothing is opened')),
    close: () => Promise.resolve(),
  };
  const log = () => undefined;
  const own = { settings, world: machine, log, damage: new DamageLog(log), layers: new Map() };
  return jobsOf({ ...own, store: closed, execution: closed }, catalogGroups);
}

/** The handlers of all these jobs. */
export async function builtInHandlers(service: Pick<RunningService, 'settings'>): Promise<Set<string>> {
  const plugins = await builtInJobs(service);
  return new Set(plugins.flatMap(({ handlers }) => handlers.map(({ handlerId }) => handlerId)));
}
