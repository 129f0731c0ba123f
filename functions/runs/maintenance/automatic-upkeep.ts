import { describeFailure } from '../../kernel/log.ts';
import type { Runtime } from '../runtime.ts';

/**
 * Further upkeep of the service. Each call is bounded, stops early when `isOver` answers true, and returns the number
 * of its changes.
 */
export type Upkeep = (isOver: () => boolean) => Promise<Readonly<Record<string, number>>>;

type UpkeepRuntime = Pick<Runtime, 'world' | 'log' | 'saw'>;

/** Upkeep has a budget of its own, so that a long prune never stops it. */
const UPKEEP_BUDGET_MS = 15_000;

/** As often as `reconcile` does it in the cloud. */
const INTERVAL_MS = 60_000;
/** Upkeep that made changes may have more to do. */
const AGAIN_MS = 1_000;

/** Does the upkeep of the groups by a timer of the process. */
export class AutomaticUpkeep {
  readonly #runtime: UpkeepRuntime;
  readonly #upkeep: readonly Upkeep[];
  readonly #stopping = new AbortController();
  #cancelTimer: () => void = () => undefined;
  #working: Promise<void> = Promise.resolve();

  constructor(runtime: UpkeepRuntime, upkeep: readonly Upkeep[]) {
    this.#runtime = runtime;
    this.#upkeep = upkeep;
  }

  start(): void {
    if (this.#upkeep.length > 0) this.#next(INTERVAL_MS);
  }

  /** Resolves when no upkeep is under way and none will start. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#cancelTimer();
    await this.#working;
  }

  #next(delayMs: number): void {
    if (this.#stopping.signal.aborted) return;
    this.#cancelTimer = this.#runtime.world.timers.after(delayMs, () => {
      this.#working = this.#work();
    });
  }

  async #work(): Promise<void> {
    const counts = await runUpkeep(this.#runtime, this.#upkeep, () => this.#stopping.signal.aborted);
    const didSomething = Object.values(counts).some((count) => count > 0);
    this.#next(didSomething ? AGAIN_MS : INTERVAL_MS);
  }
}

/** Runs each upkeep in turn. One that fails is logged, and keeps no other from its work. */
export async function runUpkeep(
  { world, log, saw }: UpkeepRuntime,
  upkeep: readonly Upkeep[],
  isStopping: () => boolean = () => false,
): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  for (const each of upkeep) {
    const deadline = world.clock.now() + UPKEEP_BUDGET_MS;
    try {
      Object.assign(counts, await each(() => isStopping() || world.clock.now() >= deadline));
    } catch (error) {
      saw?.(error);
      log({ severity: 'WARNING', message: 'Upkeep of a group failed', failure: describeFailure(error) });
    }
  }
  return counts;
}
