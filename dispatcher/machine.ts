import type { DispatcherWorld } from './world.ts';

/** The only file of the dispatcher that reads a clock, sets a timer, draws a random number or opens a connection. */
export const machine: DispatcherWorld & { readonly fetch: typeof fetch } = {
  now: () => performance.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
  fetch: (input, init) => fetch(input, init),
};
