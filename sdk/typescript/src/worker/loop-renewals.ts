import type { WorkerSettings } from './options.ts';
import { type KeptLease, type LeaseListener, passOn, type Renewals } from './renewals.ts';
import { type Proof, Renewer } from './renewer.ts';

/** Renews leases on the event loop of the handlers. */
export class LoopRenewals implements Renewals {
  readonly #renewer: Renewer;
  readonly #listeners = new Map<number, LeaseListener>();
  #last = 0;

  constructor({ client, connection, leaseMs, heartbeatMs }: WorkerSettings) {
    this.#renewer = new Renewer({
      world: connection.world,
      leaseMs,
      everyMs: heartbeatMs,
      async renew(proof, timeout) {
        const request = { ...proof, ttlSeconds: leaseMs / 1_000 };
        const { run } = await client.heartbeatExternalExecutionLease(request, { timeout });
        return run.cancellationRequested;
      },
      notify: (news) => passOn(this.#listeners.get(news.id), news),
    });
  }

  prepare(): Promise<void> {
    return Promise.resolve();
  }

  keep(proof: Proof, leftMs: number, listener: LeaseListener): Promise<KeptLease> {
    const id = (this.#last += 1);
    this.#listeners.set(id, listener);
    this.#renewer.keep(id, proof, leftMs);
    return Promise.resolve({
      leftMs: () => Promise.resolve(this.#renewer.leftMs(id)),
      drop: () => this.#drop(id),
    });
  }

  close(): Promise<void> {
    for (const id of this.#listeners.keys()) this.#drop(id);
    return Promise.resolve();
  }

  #drop(id: number): void {
    this.#renewer.drop(id);
    this.#listeners.delete(id);
  }
}
