import * as fc from '../support/fast-check.ts';

/**
 * Stands for fast-check in a mutation run: a search draws seldom and shrinks nothing. A thousand draws find a mutant among the
 * first, and a mutant that survives costs them all. A search with `endOnFailure` looks for a planted fault, and keeps its draws.
 */
export * from '../support/fast-check.ts';

const draws = Number(process.env['MUTATION_DRAWS']);

function fewer<Values>(parameters: fc.Parameters<Values> = {}): fc.Parameters<Values> {
  if (parameters.endOnFailure === true) return parameters;
  return { ...parameters, numRuns: Math.min(parameters.numRuns ?? draws, draws), endOnFailure: true };
}

export function assert<Values>(
  property: fc.IRawProperty<Values>,
  parameters?: fc.Parameters<Values>,
): Promise<void> | void {
  return fc.assert(property, fewer(parameters));
}

export function check<Values>(
  property: fc.IRawProperty<Values>,
  parameters?: fc.Parameters<Values>,
): fc.RunDetails<Values> | Promise<fc.RunDetails<Values>> {
  return fc.check(property, fewer(parameters));
}
