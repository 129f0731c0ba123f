import type { Change, Run } from '../run.ts';
import { type DueOptions, settleRun } from './due.ts';

/** Settles the run before the rule, so that a deadline and an event of the same time have one order. */
export function afterTime(
  run: Run,
  now: number,
  options: DueOptions,
  rule: (run: Run) => Change | null,
): Change | null {
  const settled = settleRun(run, now, options);
  if (settled === null) return rule(run);
  const change = rule(settled.run);
  return change === null ? settled : { run: change.run, events: [...settled.events, ...change.events] };
}
