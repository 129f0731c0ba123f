import type { ProblemCode } from '../../contracts/generated/errors.ts';

/** Members of a problem document beside its code. Never a value taken from the request. */
export interface ProblemExtensions {
  /** The faulty places of the request body, as JSON Pointers (RFC 6901), each with its fault. */
  readonly errors?: readonly ProblemDetail[];
  readonly retryAfterSeconds?: number;
  readonly [member: string]: unknown;
}

export interface ProblemDetail {
  readonly pointer: string;
  readonly detail: string;
  readonly keyword?: string;
}

/**
 * A refusal that the contract names. `code` is one of `contracts/errors.json`, which fixes the HTTP status and whether a retry
 * can help; the HTTP room turns it into a problem document (RFC 9457) last.
 */
export class ServiceError extends Error {
  readonly code: ProblemCode;
  readonly extensions: ProblemExtensions;

  constructor(code: ProblemCode, detail: string, extensions: ProblemExtensions = {}, options?: ErrorOptions) {
    super(detail, options);
    this.name = 'ServiceError';
    this.code = code;
    this.extensions = extensions;
  }
}

/** The refusal of a missing thing that a caller may expect to be missing: the log does not warn of it. */
export class ExpectedAbsence extends ServiceError {
  constructor(detail: string, code: ProblemCode = 'not_found') {
    super(code, detail);
    this.name = 'ExpectedAbsence';
  }
}

/** The JSON Pointer (RFC 6901) to the member `name` of what `pointer` points to. */
export function pointerTo(pointer: string, name: string): string {
  return `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/**
 * The refusal in one line, with its members. `whole` is the name of the outermost value; `shown` writes the pointer to any
 * other.
 */
export function refusalWords(
  { message, extensions }: Pick<ServiceError, 'message' | 'extensions'>,
  whole = 'The request',
  shown = (pointer: string): string => pointer,
): string {
  const { errors = [] } = extensions;
  return errors.length === 0 ? message : faultWords(errors, whole, shown);
}

/** The faults of a request in the one form of all texts: `/a/b: must be so; /c: is missing`. */
export function faultWords(
  errors: readonly ProblemDetail[],
  whole: string,
  shown = (pointer: string): string => pointer,
): string {
  return errors
    .map(({ pointer, detail }) => `${pointer === '' ? whole : `${shown(pointer)}:`} ${detail}`)
    .join('; ');
}

/** The refusal of a body member that breaks a rule which JSON Schema cannot express. */
export function invalidMember(
  pointer: string,
  detail: string,
  code: ProblemCode = 'validation_failed',
): ServiceError {
  const extensions = { errors: [{ pointer, detail }] };
  const words = pointer === '' ? detail : `${pointer}: ${detail}`;
  return new ServiceError(code, `The request is not valid: ${words}`, extensions);
}
