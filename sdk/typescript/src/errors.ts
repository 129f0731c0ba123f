import type { ProblemCode } from './generated/problems.ts';
import type { Problem, ProblemPlace } from './problem.ts';

/** The base of all errors of the client. Catch the subclass that you can handle. No error holds a credential. */
export class SvcError extends Error {
  /** The operation that was called; absent for an error outside of calls. */
  readonly operation: string | undefined;
  /** Method and URL of the request, without its query; of a request that cannot be made, the path of the contract. */
  readonly target: string | undefined;

  constructor(message: string, options: { readonly operation?: string; readonly cause?: unknown } = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.name = new.target.name;
    this.operation = options.operation;
  }

  /** For logs. */
  toJSON(): object {
    return { name: this.name, message: this.message, operation: this.operation, target: this.target };
  }
}

/** No complete answer arrived. The service may have carried out a write: repeat it with the same key, or read the result. */
export class APIConnectionError extends SvcError {}

/** The timeout passed before the call succeeded. */
export class APITimeoutError extends APIConnectionError {}

/** The caller's signal ended the call; its reason is the `cause`. */
export class APIAbortError extends SvcError {}

/** The status of the answer is a success, but its body cannot be read. */
export class APIResponseError extends SvcError {}

/** The service refused the request, or failed. */
export class APIStatusError extends SvcError {
  /** 0 if a browser hides it, as for a redirect. */
  readonly status: number;
  /** The problem document (RFC 9457); `null` if the answer has none, such as an answer of a proxy. */
  readonly problem: Problem | null;
  /** The problem code. Branch on it; later releases only add codes. */
  readonly code: ProblemCode | (string & {}) | null;
  /** Whether the same request can succeed later; `null` if the answer does not say. */
  readonly retryable: boolean | null;
  /** How long to wait before the next try, in seconds; `null` if the answer does not say. */
  readonly retryAfter: number | null;
  /** The id of the request in the log of the service: give it to the operator. */
  readonly correlationId: string | null;
  /** The trace of the request, by which tracing tools and the log of the service know it; `null` without one. */
  readonly traceId: string | null;
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
    this.traceId = answer.problem?.traceId ?? null;
    this.errors = answer.problem?.errors ?? [];
    this.#headers = answer.headers;
  }

  /** The headers of the answer. */
  get headers(): Headers {
    return this.#headers;
  }

  override toJSON(): object {
    const { status, code, retryable, retryAfter, correlationId, traceId, errors } = this;
    return { ...super.toJSON(), status, code, retryable, retryAfter, correlationId, traceId, errors };
  }
}

/** 304: the caller has the current content, as its `ifNoneMatch` says. */
export class NotModifiedError extends APIStatusError {}
/** 400: the request breaks a rule; `errors` says where. */
export class BadRequestError extends APIStatusError {}
/** 401: a credential is missing or invalid. */
export class AuthenticationError extends APIStatusError {}
/** 403: the caller has no permission. */
export class PermissionDeniedError extends APIStatusError {}
/** 404: the resource does not exist, or the caller may not see it. */
export class NotFoundError extends APIStatusError {}
/** 409: the request conflicts with stored state; see `code`. The client never retries it. */
export class ConflictError extends APIStatusError {}
/** 412: what is stored is not what the request expects. */
export class PreconditionFailedError extends APIStatusError {}
/** 413: the request is larger than the operation allows. */
export class PayloadTooLargeError extends APIStatusError {}
/** 422: the request is well-formed, but the service refuses its content. */
export class UnprocessableEntityError extends APIStatusError {}
/** 429: too many requests; wait for `retryAfter`. */
export class RateLimitError extends APIStatusError {}
/** 500 and above, except 503: the service or a proxy in front of it failed. */
export class InternalServerError extends APIStatusError {}
/** 503: the service is unavailable at the moment. */
export class UnavailableError extends APIStatusError {}

const byStatus: Readonly<Record<number, typeof APIStatusError>> = {
  304: NotModifiedError,
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

/** Makes the error whose class belongs to the status. */
export function statusError(answer: FailedAnswer): APIStatusError {
  const { status, problem, isRedirect } = answer;
  const Class = byStatus[status] ?? (status >= 500 ? InternalServerError : APIStatusError);
  if (problem !== null)
    return new Class(`${status} ${problem.title} [${problem.code}]: ${problem.detail}`, answer);
  const why = isRedirect ? 'a redirect, which is not followed' : 'without a problem document';
  return new Class(`${status}: ${why}`, answer);
}
