/** Seeds that once found something, or come close to it: they run with every change. Add one line for each find. */
export const EXECUTION_REGRESSION_SEEDS: readonly { readonly seed: number; readonly why: string }[] = [
  { seed: 2, why: 'two runs of one concurrency key at once, by clocks that differ' },
  { seed: 7, why: 'the queue refuses a message about a run that was started' },
  { seed: 17, why: 'a lease of an instance that is gone, in a deployment without writes' },
  { seed: 29, why: 'a process executes a run anew, and its first execution does not hear of it' },
  { seed: 293, why: 'a clock that is set forward leaves a timer behind' },
];
