import { AsyncLocalStorage } from 'node:async_hooks';
import { legible } from './legible.ts';

/** The process stops, so the job makes no further paid call: another process continues the job. */
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

/** Does the work of a job. Each of its provider calls checks `drains`; a call shared by several jobs checks that of the job that makes it. */
export function asking<R>(drains: () => boolean, work: () => R): R {
  return works.run(drains, work);
}

/** Call it before each paid request. Throws `Draining` in a job while the process drains; requests of callers continue. */
export function beforePaidCall(): void {
  if (works.getStore()?.() === true) throw new Draining();
}
