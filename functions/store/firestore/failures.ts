import { StoreError } from '../port.ts';

/**
 * The outcome of a failed write. `refused`: Firestore wrote nothing, because a rival was faster. `busy`: Firestore wrote
 * nothing, because a quota was used up. `unknown`: Firestore may have written.
 */
export type CommitFailure = 'refused' | 'busy' | 'unknown';

/** https://grpc.github.io/grpc/core/md_doc_statuscodes.html */
const INVALID_ARGUMENT = 3;
const NOT_FOUND = 5;
const ALREADY_EXISTS = 6;
const RESOURCE_EXHAUSTED = 8;
const FAILED_PRECONDITION = 9;
const ABORTED = 10;
const unknownCodes = new Set([1, 2, 4, 13, 14]); // CANCELLED, UNKNOWN, DEADLINE_EXCEEDED, INTERNAL, UNAVAILABLE
const refusedCodes = new Set([NOT_FOUND, ALREADY_EXISTS, FAILED_PRECONDITION, ABORTED]);

export function grpcCode(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'number' ? error.code : undefined;
}

/** Throws for a failure that no further attempt can change. */
export function commitFailure(error: unknown): CommitFailure {
  const code = grpcCode(error);
  if (isTooLarge(error, code)) {
    throw new StoreError('too_large', `Firestore: ${messageOf(error)}`, { cause: error });
  }
  if (code === undefined) {
    if (error instanceof StoreError && error.failure === 'unavailable') return 'unknown';
    throw error;
  }
  return codeFailure(code, error);
}

export function codeFailure(code: number, error: unknown): CommitFailure {
  if (refusedCodes.has(code)) return 'refused';
  if (code === RESOURCE_EXHAUSTED) return 'busy';
  if (unknownCodes.has(code)) return 'unknown';
  throw unavailable(error);
}

/** The emulator and the service word it differently: "exceeds maximum size", "Transaction too big", "entity size". */
function isTooLarge(error: unknown, code: number | undefined): boolean {
  if (code !== RESOURCE_EXHAUSTED && code !== INVALID_ARGUMENT) return false;
  return /maximum (entity |allowed )?size|too big|larger than|longer than/i.test(messageOf(error));
}

/** Translates a failed read into an error of the port; errors that did not come from Firestore pass unchanged. */
export function readFailure(error: unknown): unknown {
  return grpcCode(error) === undefined ? error : unavailable(error);
}

export function unavailable(error: unknown): StoreError {
  return new StoreError('unavailable', `Firestore: ${messageOf(error)}`, { cause: error });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
