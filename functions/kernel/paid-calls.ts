import { AsyncLocalStorage } from 'node:async_hooks';
import { legible } from './legible.ts';

/** The process stops, so the job makes no further call that costs money: another process goes on with it. */
class Draining extends Error {
  constructor() {
    super('The process stops: no further call of a provider begins');
    this.name = 'Draining';
  }
}

export function isDraining(error: unknown): boolean {
  return legible(() => error instanceof Draining, false);
}

const works = new AsyncLocalStorage<() => boolean>();

/** Does the work of a job, whose calls of providers ask `drains` each. A call that several works wait for asks the one that makes it. */
export function asking<R>(drains: () => boolean, work: () => R): R {
  return works.run(drains, work);
}

/** Call it before each request that costs money. Throws `Draining` in the job of a process that drains; a request of a caller goes on. */
export function beforePaidCall(): void {
  if (works.getStore()?.() === true) throw new Draining();
}
