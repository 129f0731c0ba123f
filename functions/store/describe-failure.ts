import { legible } from '../kernel/legible.ts';
import { StoreError } from './port.ts';

const causesMax = 4;

/** The reason that a store gave, for the log: its messages hold no values of a request. `undefined` for any other error. */
export function describeStoreFailure(error: unknown): string | undefined {
  return legible(() => storeFailureOf(error), undefined);
}

function storeFailureOf(error: unknown): string | undefined {
  let at = error;
  for (let depth = 0; depth < causesMax && at instanceof Error; depth += 1) {
    if (at instanceof StoreError) return `${at.failure}: ${at.message}`;
    at = at.cause;
  }
  return undefined;
}
