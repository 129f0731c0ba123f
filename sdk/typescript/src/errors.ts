import type { ProblemCode } from './generated/problems.ts';
import type { Problem, ProblemPlace } from './problem.ts';

/** Every error of the client, as a tree: catch the branch that you can do something about. None of them holds a credential. */
export class SvcError extends Error {
  /** The operation that was called; absent where none was. */
  readonly operation: string | undefined;

  constructor(message: string, options: { readonly operation?: string; readonly cause?: unknown } = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.name = new.target.name;
    this.operation = options.operation;
  }

  /** For logs. */
  toJSON(): object {
    return { name: this.name, message: this.message, operation: this.operation };
  }
}

/** No answer came. Whether a write was carried out is not known: repeat it with the same key, or look. */
export class APIConnectionError extends SvcError {}

/** The time of the call was over before it succeeded. */
export class APITimeoutError extends APIConnectionError {}

/** The caller's signal ended the call; its reason is the `cause`. */
export class APIAbortError extends SvcError {}

/** The answer is of a status that was expected, but not of the form. */
export class APIResponseError extends SvcError {}

/** A service answered that the request did not succeed. */
export class APIStatusError extends SvcError {
  /** 0 where a browser hides it, as it does with redirects. */
  readonly status: number;
  /** The problem document (RFC 9457); `null` where the answer holds none, such as that of a proxy. */
  readonly problem: Problem | null;
  /** What to branch on. The vocabulary only grows. */
  readonly code: ProblemCode | (string & {}) | null;
  /** Whether the same request can succeed later without being changed; `null` where the answer does not say. */
  readonly retryable: boolean | null;
  /** How long to wait before trying again, in seconds; `null` where the answer does not say. */
  readonly retryAfter: number | null;
  /** What to tell whoever runs the service. */
  readonly correlationId: string | null;
  /** The refused places of the request. */
  readonly errors: readonly ProblemPlace[];
  readonly #headers: Headers;

  constructor(message: string, answer: FailedAnswer) {
    super(message, { operation: answer.operation });
    this.status = answer.status;
    this.problem = answer.problem;
    this.code = answer.problem?.code ?? null;
    this.retryable = answer.problem?.retryable ?? null;
    this.retryAfter = answer.retryAfter;
    this.correlationId = answer.problem?.correlationId ?? answer.headers.get('x-correlation-id');
    this.errors = answer.problem?.errors ?? [];
    this.#headers = answer.headers;
  }

  /** Those of the answer. */
  get headers(): Headers {
    return this.#headers;
  }

  override toJSON(): object {
    const { status, code, retryable, retryAfter, correlationId, errors } = this;
    return { ...super.toJSON(), status, code, retryable, retryAfter, correlationId, errors };
  }
}

/** 400: the request breaks a rule; `errors` says where. */
export class BadRequestError extends APIStatusError {}
/** 401: a credential is missing, or does not hold. */
export class AuthenticationError extends APIStatusError {}
/** 403: the caller may not do this. */
export class PermissionDeniedError extends APIStatusError {}
/** 404: not there, or not the caller's to see. */
export class NotFoundError extends APIStatusError {}
/** 409: the request disagrees with what is there, as `code` says. Never repeated by the client. */
export class ConflictError extends APIStatusError {}
/** 412: a document is not at the revision that the request expects. */
export class PreconditionFailedError extends APIStatusError {}
/** 413: more than the operation takes at once. */
export class PayloadTooLargeError extends APIStatusError {}
/** 422: understood, and refused for what it asks. */
export class UnprocessableEntityError extends APIStatusError {}
/** 429: too much at a time; `retryAfter` says how long to wait. */
export class RateLimitError extends APIStatusError {}
/** 500 and above, but 503: a fault of the service, or of what is in front of it. */
export class InternalServerError extends APIStatusError {}
/** 503: not now. */
export class UnavailableError extends APIStatusError {}

const byStatus: Readonly<Record<number, typeof APIStatusError>> = {
  400: BadRequestError,
  401: AuthenticationError,
  403: PermissionDeniedError,
  404: NotFoundError,
  409: ConflictError,
  412: PreconditionFailedError,
  413: PayloadTooLargeError,
  422: UnprocessableEntityError,
  429: RateLimitError,
  503: UnavailableError,
};

export interface FailedAnswer {
  readonly operation: string;
  readonly status: number;
  readonly headers: Headers;
  readonly problem: Problem | null;
  readonly retryAfter: number | null;
  readonly isRedirect: boolean;
}

/** The error of an answer, of the class of its status. */
export function statusError(answer: FailedAnswer): APIStatusError {
  const { status, problem, isRedirect } = answer;
  const Class = byStatus[status] ?? (status >= 500 ? InternalServerError : APIStatusError);
  if (problem !== null)
    return new Class(`${status} ${problem.title} [${problem.code}]: ${problem.detail}`, answer);
  const why = isRedirect ? 'a redirect, which is not followed' : 'without a problem document';
  return new Class(`${status}: ${why}`, answer);
}
