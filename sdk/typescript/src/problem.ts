import { parseJson } from './json-text.ts';
export const PROBLEM = 'application/problem+json';

/**
 * A problem document (RFC 9457). The service answers every refusal with one. A code may add members of its own.
 */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly instance: string;
  readonly code: string;
  readonly retryable: boolean;
  readonly correlationId: string;
  /** The trace of the request, if it had a valid `traceparent`. */
  readonly traceId?: string;
  readonly errors?: readonly ProblemPlace[];
  /** In seconds. */
  readonly retryAfterSeconds?: number;
  /** The receipt of the refused start, if the service rejected valid work. */
  readonly admission?: ProblemAdmission;
  readonly [member: string]: unknown;
}

/** One faulty place of the request. */
export interface ProblemPlace {
  /** A JSON Pointer into the body; empty for the whole body. */
  readonly pointer: string;
  readonly detail: string;
  readonly keyword?: string;
}

/** The admission receipt of rejected work. */
export interface ProblemAdmission {
  readonly version: 'svc.admission.v1';
  readonly admissionId: string;
  readonly operationId: string;
  readonly status: 'accepted' | 'rejected';
  readonly resourceId: string;
  readonly requestHash: string;
  readonly idempotencyKeyHash: string | null;
  readonly replayed: boolean;
  readonly admittedAtUtc: string;
  readonly statusUri: string;
  readonly resultUri: string | null;
  /** The class of the failure. Branch on it together with `code`. */
  readonly failureClass: string | null;
  readonly error: string | null;
}

/** The problem document in a body; `null` if it has none, or one of another service. */
export function problemOf(mediaType: string, text: string): Problem | null {
  if (mediaType !== PROBLEM) return null;
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const { errors, retryAfterSeconds, traceId, ...members } = value as Partial<Record<string, unknown>>;
  const hasTexts = texts.every((name) => typeof members[name] === 'string');
  if (!hasTexts || typeof members['retryable'] !== 'boolean') return null;
  if (errors !== undefined && !Array.isArray(errors)) return null;
  // Drop optional members of a wrong type: callers rely on the types, and the other members are still valid.
  const isTime = typeof retryAfterSeconds === 'number' && retryAfterSeconds >= 0;
  return {
    ...members,
    ...(typeof traceId === 'string' ? { traceId } : {}),
    ...(errors === undefined ? {} : { errors: errors.filter(isPlace) }),
    ...(isTime ? { retryAfterSeconds } : {}),
  } as unknown as Problem;
}

const texts = ['code', 'title', 'detail', 'correlationId'];

function isPlace(value: unknown): value is ProblemPlace {
  if (typeof value !== 'object' || value === null) return false;
  const { pointer, detail, keyword = '' } = value as Partial<Record<string, unknown>>;
  return [pointer, detail, keyword].every((member) => typeof member === 'string');
}
