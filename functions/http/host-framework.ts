import type { Server } from 'node:http';
import { http } from '@google-cloud/functions-framework';
import { describeFailure, type Log } from '../kernel/log.ts';
import { delay, type World } from '../kernel/world.ts';
import { installRawBridge } from './bridge.ts';
import { guardConnections } from './connection.ts';
import { createExchange, type Exchange } from './exchange.ts';
import type { Chain } from './message.ts';

export interface FrameworkHostOptions {
  readonly world: Pick<World, 'clock' | 'timers' | 'random'>;
  readonly log: Log;
  /** Closes stores and clients, after the last request and before the process ends. */
  /** Called first: the process will stop once its callers are answered. */
  readonly drain?: () => void;
  readonly close: () => Promise<void>;
  /** The platform kills the instance 10 s after SIGTERM. */
  readonly drainMs?: number;
  /** Handles an unhandled rejection that is no fault of the process; answers `false` for any other. */
  readonly takeRejection?: (reason: unknown) => boolean;
}

const stopSignals = ['SIGTERM', 'SIGINT'] as const;
const faults = ['uncaughtException', 'unhandledRejection'] as const;
// The time for requests under way to be answered after a fault.
const faultDrainMs = 1_000;
const faultExitCode = 16;

/** Registers the chain as an HTTP function of functions-framework. One process serves one function, so call it once. */
export function registerFunction(name: string, chain: Chain, options: FrameworkHostOptions): void {
  const exchange = createExchange(chain, options.world);
  const before = new Set([...stopSignals, ...faults].flatMap((event) => process.rawListeners(event)));
  installRawBridge({
    onServer: (server) => {
      guardConnections(server, chain, exchange, options.world);
      // The framework registers its handlers in its own listener of the same event.
      server.once('listening', () => setImmediate(() => takeOver(server, exchange, before, options)));
    },
    onRequest: (request, response) => exchange.begin(request, response),
  });
  http(name, exchange.handle);
}

/**
 * On SIGTERM the framework ends the process at once, and on a fault it writes the error into the response that was
 * begun last, which may belong to another caller. Both handlers are replaced, and only those of the framework itself.
 */
function takeOver(
  server: Server,
  exchange: Exchange,
  before: ReadonlySet<unknown>,
  { world, log, drain, close, drainMs = 8_000, takeRejection }: FrameworkHostOptions,
): void {
  for (const event of [...stopSignals, ...faults]) {
    for (const listener of process.rawListeners(event)) {
      if (!before.has(listener)) process.off(event, listener as () => void);
    }
  }
  let stopping = false;
  const stop = async (waitMs: number, exitCode: number): Promise<void> => {
    if (stopping) return;
    stopping = true;
    drain?.();
    server.close();
    exchange.closeConnections();
    server.closeIdleConnections();
    await Promise.race([exchange.idle(), delay(world.timers, waitMs)]);
    exchange.abort();
    await close().catch((error: unknown) =>
      log({
        severity: 'ERROR',
        message: 'the service did not close cleanly',
        failure: describeFailure(error),
      }),
    );
    process.exit(exitCode);
  };
  for (const signal of stopSignals) process.once(signal, () => void stop(drainMs, 0));
  for (const fault of faults) {
    process.on(fault, (error: unknown) => {
      if (fault === 'unhandledRejection' && takeRejection?.(error) === true) return;
      log({
        severity: 'ERROR',
        message: 'the process met a fault and ends',
        failure: describeFailure(error),
      });
      void stop(faultDrainMs, faultExitCode);
    });
  }
}
