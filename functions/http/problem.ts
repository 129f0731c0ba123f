import { type ProblemCode, problems } from '../../contracts/generated/errors.ts';
import { ServiceError } from '../kernel/errors.ts';
import { StoreError, type StoreFailure } from '../store/port.ts';
import { BrokenBodyError, type RawResponse } from './message.ts';

/** Turns every refusal into a problem document (RFC 9457). No other place does. */

export interface Problem {
  readonly code: ProblemCode;
  readonly response: RawResponse;
  /** No part of the service expects the error: worth an alarm and a trace in the log. */
  readonly unexpected: boolean;
}

const storeProblems: Readonly<Record<StoreFailure, readonly [ProblemCode, string]>> = {
  contention: ['store_contention', 'Others were writing the same data; nothing was written. Try again.'],
  unavailable: ['unavailable', 'The store did not answer. Whether a write was made is not known.'],
  too_large: [
    'commit_too_large',
    'The write is larger than one transaction of the store; nothing was written.',
  ],
  full: ['storage_full', 'The store has no room left; nothing was written.'],
  corrupt: ['internal_error', 'The service met a fault of its own.'],
};

// Refusals after which the caller should retry have a time for it.
const retryAfterDefaultSeconds: Partial<Record<ProblemCode, number>> = {
  store_contention: 1,
  unavailable: 5,
  search_index_building: 10,
};

// An answer to a request with an unread part, so that the connection cannot be reused.
const closing = new Set<ProblemCode>([
  'payload_too_large',
  'snapshot_too_large',
  'request_timeout',
  'headers_too_large',
]);

/** The problem document of any thrown value. For an unexpected error it has no details. */
export function problemOf(error: unknown, correlationId: string, traceId?: string): Problem {
  const refusal = serviceErrorOf(error);
  const { status, title, retryable } = problems[refusal.code];
  const { errors, retryAfterSeconds: _seconds, ...more } = refusal.extensions;
  const retryAfterSeconds = retryAfterOf(refusal);
  const document = {
    // First, so that a refusal cannot replace the members of every problem document.
    ...more,
    type: `urn:svc:problem:${refusal.code}`,
    title,
    status,
    detail: refusal.message,
    // A URN allows few characters without an escape.
    instance: `urn:svc:request:${correlationId.replace(/[^A-Za-z0-9._:-]/g, encodeURIComponent)}`,
    code: refusal.code,
    retryable,
    correlationId,
    ...(traceId === undefined ? {} : { traceId }),
    ...(errors === undefined ? {} : { errors }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  };
  const headers: [string, string][] = [['Content-Type', 'application/problem+json']];
  if (retryAfterSeconds !== undefined) headers.push(['Retry-After', String(retryAfterSeconds)]);
  if (status === 401) headers.push(['WWW-Authenticate', 'Bearer realm="svc"']);
  if (refusal.code === 'range_not_satisfiable') headers.push(...rangeFields(more));
  if (Array.isArray(more.allow)) headers.push(['Allow', more.allow.join(', ')]);
  return {
    code: refusal.code,
    unexpected: refusal.code === 'internal_error',
    response: {
      status,
      headers,
      body: JSON.stringify(document),
      close: closing.has(refusal.code) || error instanceof BrokenBodyError,
    },
  };
}

/** The seconds after which the caller may retry; `undefined` when the refusal names none. */
export function retryAfterOf({ code, extensions }: ServiceError): number | undefined {
  return extensions.retryAfterSeconds ?? retryAfterDefaultSeconds[code];
}

/** The size and the tag of the bytes, from which a client makes a range that exists. */
function rangeFields({ size, etag }: Readonly<Record<string, unknown>>): [string, string][] {
  const tag: [string, string][] = typeof etag === 'string' ? [['ETag', etag]] : [];
  return [['Accept-Ranges', 'bytes'], ['Content-Range', `bytes */${String(size)}`], ...tag];
}

/** The refusal that a thrown value means to a caller; an unexpected error becomes `internal_error`, with its cause. */
export function serviceErrorOf(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  if (error instanceof StoreError) {
    const [code, detail] = storeProblems[error.failure];
    return new ServiceError(code, detail, {}, { cause: error });
  }
  if (error instanceof BrokenBodyError) {
    return new ServiceError('malformed_request', 'The request body ended before it was complete.');
  }
  return new ServiceError('internal_error', 'The service met a fault of its own.', {}, { cause: error });
}
