import { randomBytes } from 'node:crypto';
import { isLoopbackHost } from '../../functions/http/loopback-host.ts';
import { type OidcIssuer, startOidcIssuer } from '../oidc-issuer.ts';
import type { Scheduler } from '../scheduler.ts';
import { startAdmin } from './admin.ts';
import { type FaultSwitches, Faults } from './faults.ts';
import { startGrpcService } from './grpc-service.ts';
import { checkQueueName, locationOfQueue } from './names.ts';
import { createQueue } from './queue-calls.ts';
import type { WireQueue } from './queue-settings.ts';
import { openSqliteTasksStore } from './sqlite-tasks-store.ts';
import { sendToTarget } from './target-http.ts';
import { TasksState, type TasksWorld } from './tasks-state.ts';
import { memoryTasksStore } from './tasks-store.ts';

/**
 * Cloud Tasks on one machine: the gRPC service for the official client. It listens on loopback and sends to loopback
 * only, because any process on this machine can make it send any request with a token of any account.
 */
export interface TasksEmulator {
  /** The `apiEndpoint` and `port` for the client. */
  readonly host: string;
  readonly port: number;
  /** The page of its queues and tasks, and its fault switches. */
  readonly adminUrl: string;
  /** The issuer of the tokens it sends. */
  readonly issuer: Pick<OidcIssuer, 'issuer' | 'keySetUrl'>;
  /** Stops sending and waits a moment for active targets; it still accepts calls. */
  hold(): Promise<void>;
  /** Accepts no more calls, waits a moment for active targets, and ends. */
  stop(): Promise<void>;
}

export interface TasksEmulatorOptions {
  /** A loopback address; default 127.0.0.1. */
  readonly host?: string;
  /** 0, the default of both, takes a free port. */
  readonly port?: number;
  readonly adminPort?: number;
  /** A folder for state that survives the process; absent: state is in memory only. */
  readonly dataDir?: string;
  /** Queues to create if they are missing; absent settings take the defaults of Cloud Tasks. */
  readonly queues?: readonly WireQueue[];
  /** Signs the tokens of tasks. Absent: the emulator starts an issuer of its own. */
  readonly issuer?: Pick<OidcIssuer, 'issuer' | 'keySetUrl' | 'mint'>;
  /** The time for which the name of an ended task stays reserved; default an hour. */
  readonly taskNameHeldMs?: number;
  /** The time for which the name of a deleted queue stays reserved; default seven days. */
  readonly queueNameHeldMs?: number;
  readonly faults?: FaultSwitches;
  /** The time that a stop waits for active targets; default 5 seconds. */
  readonly stopGraceMs?: number;
  readonly world?: Partial<TasksWorld>;
  /** The scheduler whose jobs the page shows too. */
  readonly scheduler?: Pick<Scheduler, 'jobs' | 'run'>;
}

const hourMs = 3_600_000;

/**
 * Throws an Error for a host that other machines could reach, for a port in use and for a folder that another process
 * has.
 */
export async function startTasksEmulator(options: TasksEmulatorOptions = {}): Promise<TasksEmulator> {
  const { host = '127.0.0.1' } = options;
  if (!isLoopbackHost(host.includes(':') ? `[${host}]` : host))
    throw new Error(`The Cloud Tasks emulator serves loopback only, and ${host} is not of it.`);
  const stops: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const each of stops.splice(0).reverse()) await each();
  };
  try {
    const issuer = options.issuer ?? (await ownIssuer(stops));
    const faults = new Faults(options.faults);
    const state = openState(options, issuer, faults);
    const { scheduler, stopGraceMs = 5000 } = options;
    stops.push(() => state.stop(stopGraceMs));
    await addMissing(state, options.queues ?? []);
    const admin = await startAdmin({
      host,
      port: options.adminPort ?? 0,
      state,
      faults,
      ...(scheduler && { scheduler }),
    });
    stops.push(() => admin.stop());
    const grpc = await startGrpcService({ host, port: options.port ?? 0, state, faults });
    stops.push(() => grpc.stop());
    state.start();
    const hold = (): Promise<void> => state.dispatcher.stop(stopGraceMs);
    return { host, port: grpc.port, adminUrl: admin.url, issuer, hold, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function ownIssuer(stops: (() => Promise<void>)[]): Promise<OidcIssuer> {
  const issuer = await startOidcIssuer();
  stops.push(() => issuer.stop());
  return issuer;
}

function openState(
  options: TasksEmulatorOptions,
  issuer: Pick<OidcIssuer, 'mint'>,
  faults: Faults,
): TasksState {
  const world = { ...realWorld(), ...options.world };
  const { dataDir, taskNameHeldMs = hourMs, queueNameHeldMs = 7 * 24 * hourMs } = options;
  return new TasksState({
    world,
    faults,
    taskNameHeldMs,
    queueNameHeldMs,
    store: dataDir === undefined ? memoryTasksStore : openSqliteTasksStore(dataDir, world.clock.now()),
    mintToken: ({ serviceAccountEmail: email, audience }) =>
      issuer.mint({ email, audience, issuedAtSeconds: Math.floor(world.clock.now() / 1000) }),
  });
}

async function addMissing(state: TasksState, queues: readonly WireQueue[]): Promise<void> {
  for (const queue of queues) {
    const name = checkQueueName(queue.name ?? '');
    if (!state.lanes.has(name)) await createQueue(state, { parent: locationOfQueue(name), queue });
  }
}

export function realWorld(): TasksWorld {
  return {
    clock: { now: () => Date.now() },
    random: { bytes: (size) => randomBytes(size) },
    timers: {
      after(delayMs, callback) {
        const timer = setTimeout(callback, delayMs);
        return () => clearTimeout(timer);
      },
    },
    http: sendToTarget,
  };
}
