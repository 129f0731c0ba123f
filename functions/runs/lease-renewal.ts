import type { HandlerExecution } from './attempt.ts';
import { endedByHolder, isLeaseRefusal } from './outcome.ts';
import type { Runtime } from './runtime.ts';
import { heartbeat } from './work.ts';

export const LEASE_LOST = 'The lease of a run was lost while its handler executed';
const UNRESPONSIVE = 'A handler that ignores its cancellation was abandoned';

/** Renews the leases of all executions with one timer. Each is renewed at half of its time, so short runs never are. */
export class LeaseRenewal {
  readonly #runtime: Runtime;
  readonly #leaseMs: number;
  readonly #executions: () => readonly HandlerExecution[];
  readonly #abandon: (execution: HandlerExecution, reason: string) => void;
  /**
   * Executions whose own completion or wait overtook a renewal. An execution that still runs at the next renewal hangs.
   */
  readonly #overtaken = new WeakSet<HandlerExecution>();
  #disarm: (() => void) | null = null;
  #stopped = false;

  /** `abandon` ends an execution and logs the reason. */
  constructor(
    runtime: Runtime,
    leaseMs: number,
    executions: () => readonly HandlerExecution[],
    abandon: (execution: HandlerExecution, reason: string) => void,
  ) {
    this.#runtime = runtime;
    this.#leaseMs = leaseMs;
    this.#executions = executions;
    this.#abandon = abandon;
  }

  /** Starts the timer, unless it runs already. */
  arm(): void {
    if (this.#disarm !== null) return;
    this.#disarm = this.#runtime.world.timers.after(this.#leaseMs / 4, () => {
      this.#disarm = null;
      void this.#renew();
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#disarm?.();
  }

  async #renew(): Promise<void> {
    const leaseMs = this.#leaseMs;
    const now = this.#runtime.world.clock.now();
    const all = this.#executions();
    for (const execution of all) {
      const { cancelledAt } = execution;
      if (cancelledAt !== null && now - cancelledAt >= leaseMs) this.#abandon(execution, UNRESPONSIVE);
    }
    const due = all.filter(({ expiresAt, isOver }) => !isOver && expiresAt - now <= leaseMs / 2);
    await Promise.all(due.map((execution) => this.#renewOne(execution)));
    if (this.#executions().length > 0 && !this.#stopped) this.arm();
  }

  async #renewOne(execution: HandlerExecution): Promise<void> {
    const { clock } = this.#runtime.world;
    try {
      const run = await heartbeat(this.#runtime, execution.held, this.#leaseMs, clock.now());
      execution.expiresAt = run.lease?.expiresAt ?? execution.expiresAt;
    } catch (error) {
      // The handler ended its lease while this renewal was under way, and its attempt ends by itself.
      if (endedByHolder(error) && !this.#overtaken.has(execution)) {
        this.#overtaken.add(execution);
        return;
      }
      // Another worker holds the run or may take it: no later write of this handler may count.
      if (isLeaseRefusal(error) || clock.now() >= execution.expiresAt) this.#abandon(execution, LEASE_LOST);
    }
  }
}
