import { ExecutionUser } from './execution-clients.ts';
import { KEY } from './execution-instance.ts';
import { Violation } from './violation.ts';

const LOOK_EVERY_MS = 500;

/** Looks in a row, not time: the clock of the simulation may jump while work is under way. */
const LOOKS_MAX = 30;

/**
 * Watches one concurrency key: while it is free, a queued run of its handlers that a waiting worker may have is leased
 * within a bounded time.
 */
export class KeyWatch extends ExecutionUser {
  stopped = false;
  /** Calls that wait for a run, by worker. */
  readonly #polls = new Map<string, number>();

  /** Counts the call among those that wait. */
  async polling<T>(workerId: string, call: () => Promise<T>): Promise<T> {
    const add = (n: number) => this.#polls.set(workerId, (this.#polls.get(workerId) ?? 0) + n);
    add(1);
    try {
      return await call();
    } finally {
      add(-1);
    }
  }

  async run(): Promise<void> {
    const { cluster } = this.work;
    const { scheduler } = cluster;
    let looks = 0;
    let seen = '';
    while (!this.stopped) {
      const wanted = this.#wanted();
      // A started instance knows nothing yet, and its workers call again.
      const state = `${this.#leases()} ${cluster.started}`;
      looks = wanted.length === 0 || state !== seen ? 0 : looks + 1;
      seen = state;
      if (looks > LOOKS_MAX) {
        const message = `the key stayed free for ${looks} looks, and ${wanted.join()} had a waiting worker`;
        scheduler.fail(new Violation('a free key is used', message));
        return;
      }
      await scheduler.sleep(this, LOOK_EVERY_MS, 'watch');
    }
  }

  /** How often a run with the key was leased so far. */
  #leases(): number {
    const keyed = this.work.oracle.runs.filter(({ handlerId }) => handlerId !== 'x-free');
    return keyed.reduce((sum, { attempt }) => sum + attempt, 0);
  }

  /** The runs that a waiting worker may have, while the key is free; also those whose lease has ended. */
  #wanted(): string[] {
    const { oracle, cluster } = this.work;
    const { policies, instances } = cluster.shape;
    const now = Math.min(...instances.map((name) => cluster.now(name)));
    const isHeld = oracle.runs.some(
      ({ status, concurrencyKey, lease }) =>
        status === 'running' && concurrencyKey === KEY && (lease?.expiresAt ?? 0) > now,
    );
    if (isHeld || cluster.runtime() === undefined) return [];
    const mayHave = (productId: string | undefined, workerId: string) =>
      policies.length === 0 ||
      policies.some(
        (policy) => policy.productId === productId && policy.allowedServiceIdentities.includes(workerId),
      );
    const workers = [...this.#polls].filter(([, calls]) => calls > 0).map(([workerId]) => workerId);
    return oracle.runs
      .filter(
        ({ status, handlerId }) => (status === 'queued' || status === 'running') && handlerId !== 'x-free',
      )
      .filter(({ scope }) => workers.some((workerId) => mayHave(scope?.productId, workerId)))
      .map(({ id }) => id.slice(-6));
  }
}
