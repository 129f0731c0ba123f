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
  readonly [member: string]: unknown;
}

/** One place of the request that was refused. */
export interface ProblemPlace {
  /** A JSON Pointer into the body; empty for the whole of it. */
  readonly pointer: string;
  readonly detail: string;
  readonly keyword?: string;
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
  const { code, title, detail, correlationId, retryable, errors } = value as Partial<Record<string, unknown>>;
  const said = [code, title, detail, correlationId].every((member) => typeof member === 'string');
  const whole = said && typeof retryable === 'boolean' && (errors === undefined || Array.isArray(errors));
  return whole ? (value as Problem) : null;
}
