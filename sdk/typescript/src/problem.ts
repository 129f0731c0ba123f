export const PROBLEM = 'application/problem+json';

/**
 * A problem document (RFC 9457), as every refusal of the service is. Further members may be there, such as those that a
 * code tells more with.
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
  readonly errors?: readonly ProblemPlace[];
  /** In seconds. */
  readonly retryAfterSeconds?: number;
  /** How the start of work was answered, where it was refused after its request was understood. */
  readonly admission?: ProblemAdmission;
  readonly [member: string]: unknown;
}

/** One place of the request that was refused. */
export interface ProblemPlace {
  /** A JSON Pointer into the body; empty for the whole of it. */
  readonly pointer: string;
  readonly detail: string;
  readonly keyword?: string;
}

/** The receipt of work that was rejected: how its start was answered. */
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
  /** What to branch on, beside the code. */
  readonly failureClass: string | null;
  readonly error: string | null;
}

/** The problem document that a body holds; `null` where it holds none, or none of this service. */
export function problemOf(mediaType: string, text: string): Problem | null {
  if (mediaType !== PROBLEM) return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const { errors, retryAfterSeconds, ...members } = value as Partial<Record<string, unknown>>;
  const said = texts.every((name) => typeof members[name] === 'string');
  if (!said || typeof members['retryable'] !== 'boolean') return null;
  if (errors !== undefined && !Array.isArray(errors)) return null;
  // What is not of the type that readers count on is left out, and takes nothing from the rest.
  const isTime = typeof retryAfterSeconds === 'number' && retryAfterSeconds >= 0;
  return {
    ...members,
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
