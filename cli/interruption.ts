import { constants } from 'node:os';
import { ToolError } from './output.ts';

const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
export type StopSignal = (typeof names)[number];

/** A signal asked to stop, and what was under way did. */
class Interruption extends Error {
  readonly signalName: StopSignal;

  constructor(signalName: StopSignal) {
    super(`stopped by ${signalName}`);
    this.name = 'Interruption';
    this.signalName = signalName;
  }
}

/** What a process says of its signals; the process itself unless a test stands in. */
export interface SignalSource {
  once(name: StopSignal, listener: () => void): unknown;
  off(name: StopSignal, listener: () => void): unknown;
}

/**
 * Runs `work` so that a signal ends it in good order: it gets a signal of its own to stop by. The second one ends the
 * process at once. `after` says how things stand when the work was given up; work that ends all the same has its result.
 */
export async function interruptible<R>(
  after: string,
  work: (signal: AbortSignal) => Promise<R>,
  source: SignalSource = process,
): Promise<R> {
  const controller = new AbortController();
  const listeners = names.map((name) => {
    // `once`: the next one of this name meets the system's own answer.
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

/** Streams wrap the reason that they were given. */
function comesFrom(error: unknown, reason: Interruption): boolean {
  if (error === reason) return true;
  return error instanceof Error && error.cause !== undefined && comesFrom(error.cause, reason);
}
