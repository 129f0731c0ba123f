import * as fc from '../support/fast-check.ts';

/**
 * Stands for fast-check in a mutation run: a search draws seldom and shrinks nothing. A thousand draws find a mutant among the
 * first, and a mutant that survives costs them all. `check` keeps its draws: tests of tests need them.
 */
export * from '../support/fast-check.ts';

const DRAWS = 25;

export function assert<Values>(
  property: fc.IRawProperty<Values>,
  parameters?: fc.Parameters<Values>,
): Promise<void> | void {
  const numRuns = Math.min(parameters?.numRuns ?? DRAWS, DRAWS);
  return fc.assert(property, { ...parameters, numRuns, endOnFailure: true });
}
