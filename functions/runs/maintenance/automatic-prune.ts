import { describeFailure } from '../../kernel/log.ts';
import type { Runtime } from '../runtime.ts';
import { pruneAll } from './prune.ts';
import { repairRuns } from './repair.ts';

/** No batch starts after this time; the next prune does the rest. */
const BUDGET_MS = 30_000;

/** The delay of the first prune after the start, so that it does not compete with the recovery of runs. */
const FIRST_MS = 60_000;

/** Prunes on a timer of the process, as the settings demand, and repairs data of an earlier release. */
export class AutomaticPrune {
  readonly #runtime: Runtime;
  readonly #intervalMs: number;
  readonly #stopping = new AbortController();
  #cancelTimer: () => void = () => undefined;
  #pruning: Promise<void> = Promise.resolve();

  constructor(runtime: Runtime, intervalMs: number) {
    this.#runtime = runtime;
    this.#intervalMs = intervalMs;
  }

  start(): void {
    this.#next(Math.min(FIRST_MS, this.#intervalMs));
  }

  /** Resolves when no prune is under way and none will start. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#cancelTimer();
    await this.#pruning;
  }

  #next(delayMs: number): void {
    if (this.#stopping.signal.aborted) return;
    this.#cancelTimer = this.#runtime.world.timers.after(delayMs, () => {
      this.#pruning = this.#prune().then(() => this.#next(this.#intervalMs));
    });
  }

  async #prune(): Promise<void> {
    const { world, options, log } = this.#runtime;
    const now = world.clock.now();
    const isOver = () => this.#stopping.signal.aborted || world.clock.now() >= now + BUDGET_MS;
    await repairRuns(this.#runtime, isOver);
    try {
      const { runs, failed } = await pruneAll(this.#runtime, now, {
        deadline: now + BUDGET_MS,
        ageMsMin: options.retainedAgeMsMin,
        signal: this.#stopping.signal,
      });
      if (runs > 0) log({ severity: 'INFO', message: `Pruned ${runs} terminal runs; ${failed} failed` });
    } catch (error) {
      log({ severity: 'WARNING', message: 'Runs could not be pruned', failure: describeFailure(error) });
    }
  }
}
