import * as fc from 'fast-check';
import { isNightly, seedOf } from './effort.ts';

/**
 * Stands for fast-check in all tests. A property that names no seed draws from a fixed one. A property draws as often as it says
 * in the nightly lane alone; with every change it draws `DRAWS_MAX` times at the most. A search with `endOnFailure` looks for a
 * planted fault, ends when it finds it, and keeps its draws.
 */
export * from 'fast-check';
export { default } from 'fast-check';

const DRAWS_MAX = 500;
/** The number of draws of a property that gives none. */
const DRAWS = 100;
/** In a mutation run, the most draws. Nothing is shrunk there: a mutant that survives costs all draws, and any failure settles one. */
const ofMutation = process.env['MUTATION_DRAWS'];

fc.configureGlobal({ seed: seedOf('properties') });

function limited<Values>(parameters: fc.Parameters<Values> = {}): fc.Parameters<Values> {
  const { numRuns = DRAWS, endOnFailure } = parameters;
  if (endOnFailure === true) return parameters;
  if (ofMutation !== undefined)
    return { ...parameters, numRuns: Math.min(numRuns, Number(ofMutation)), endOnFailure: true };
  return isNightly ? parameters : { ...parameters, numRuns: Math.min(numRuns, DRAWS_MAX) };
}

export function assert<Values>(
  property: fc.IRawProperty<Values>,
  parameters?: fc.Parameters<Values>,
): Promise<void> | void {
  return fc.assert(property, limited(parameters));
}

export function check<Values>(
  property: fc.IRawProperty<Values>,
  parameters?: fc.Parameters<Values>,
): fc.RunDetails<Values> | Promise<fc.RunDetails<Values>> {
  return fc.check(property, limited(parameters));
}
