import type { Json } from '../kernel/canonical-json.ts';
import type { Held } from './held.ts';
import { RunSuspended } from './plugin.ts';
import { type RepeatBounds, repeatWhileLeased } from './repeat.ts';
import type { Run, WaitIdentity, WaitOutcome } from './run.ts';
import type { Runtime } from './runtime.ts';
import { wait } from './work.ts';

/** An attempt of a handler in this process, as its calls see it. */
export interface Attempt {
  readonly run: Run;
  readonly payload: Json;
  /** The result that an earlier attempt reported. */
  readonly result: Json;
  readonly held: Held;
  readonly signal: AbortSignal;
  /** How long a call may be repeated while the store does not answer. */
  readonly bounds: RepeatBounds;
  /** Called with the error of each failed call. */
  readonly refused: (error: unknown) => void;
}

interface WaitCall extends WaitIdentity {
  readonly dueAt: number | null;
  /** The payload of a timer. */
  readonly json?: Json;
  readonly bytes?: number;
}

/** The outcome of the wait. Throws `RunSuspended` where the run is parked. A repeat of the named wait gets the outcome that an unanswered one took. */
export async function waitOrSuspend(
  runtime: Runtime,
  { held, bounds }: Pick<Attempt, 'held' | 'bounds'>,
  { json: payload = null, bytes = 0, ...request }: WaitCall,
): Promise<WaitOutcome> {
  const write = { id: runtime.ids.next(), requestHash: '' };
  const { world } = runtime;
  const { outcome } = await repeatWhileLeased(world, bounds, () =>
    wait(runtime, held, { ...request, payload, bytes, write }, world.clock.now()),
  );
  if (outcome === null) throw new RunSuspended();
  return outcome;
}

/** Calls whose failures are seen also where the handler does not await them: otherwise each would end the process. */
export function watchedCalls<Calls extends object>(calls: Calls, refused: Attempt['refused']): Calls {
  const watched: Record<string, unknown> = {};
  for (const [name, call] of Object.entries(calls) as [string, (...given: never[]) => Promise<unknown>][]) {
    watched[name] = (...given: never[]) => {
      const answer = call(...given);
      answer.catch(refused);
      return answer;
    };
  }
  return watched as Calls;
}
