import { constants } from 'node:os';
import { ToolError } from './output.ts';

const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** @testonly */
export type StopSignal = (typeof names)[number];

/** A signal asked the command to stop, and the work has stopped. */
class Interruption extends Error {
  readonly signalName: StopSignal;

  constructor(signalName: StopSignal) {
    super(`stopped by ${signalName}`);
    this.name = 'Interruption';
    this.signalName = signalName;
  }
}

/** The source of signals: the process, or a test. */
export interface SignalSource {
  once(name: StopSignal, listener: () => void): unknown;
  off(name: StopSignal, listener: () => void): unknown;
}

/**
 * Runs `work` so that a signal stops it in good order through an AbortSignal. A second signal ends the process at
 * once. `after` describes the state after a stop; work that completes anyway keeps its result.
 */
export async function interruptible<R>(
  after: string,
  work: (signal: AbortSignal) => Promise<R>,
  source: SignalSource = process,
): Promise<R> {
  const controller = new AbortController();
  const listeners = names.map((name) => {
    // `once`: the next signal of this name gets the system's default action.
    const listener = () => controller.abort(new Interruption(name));
    source.once(name, listener);
    return { name, listener };
  });
  try {
    return await work(controller.signal);
  } catch (error) {
    const reason: unknown = controller.signal.reason;
    if (!(reason instanceof Interruption) || !comesFrom(error, reason)) throw error;
    const code = 128 + constants.signals[reason.signalName];
    throw new ToolError(`Interrupted: ${after}`, code, { cause: reason });
  } finally {
    for (const { name, listener } of listeners) source.off(name, listener);
  }
}

/** Streams wrap the abort reason. */
function comesFrom(error: unknown, reason: Interruption): boolean {
  if (error === reason) return true;
  return error instanceof Error && error.cause !== undefined && comesFrom(error.cause, reason);
}
