import { type ProblemDetail, ServiceError } from '../../functions/kernel/errors.ts';

export interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly errors?: readonly ProblemDetail[];
  readonly [member: string]: unknown;
}

/** The refusal of `call`, with all that the answer would show; fails where nothing is refused. */
export function refusalOf(call: () => unknown): Refusal {
  try {
    call();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { code: error.code, message: error.message, ...error.extensions };
  }
  throw new Error('nothing was refused');
}
