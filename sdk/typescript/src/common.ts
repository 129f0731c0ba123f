/** The exports that every entry of the package shares. */
export type { AnswerInfo, Call, PagedCall } from './call.ts';
export {
  APIAbortError,
  APIConnectionError,
  APIResponseError,
  APIStatusError,
  APITimeoutError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  InternalServerError,
  NotFoundError,
  NotModifiedError,
  PayloadTooLargeError,
  PermissionDeniedError,
  PreconditionFailedError,
  RateLimitError,
  SvcError,
  UnavailableError,
  UnprocessableEntityError,
} from './errors.ts';
export type * from './generated/models.ts';
export type { ProblemCode } from './generated/problems.ts';
export { VERSION } from './generated/version.ts';
export type { BinaryContent, FilePart } from './operation.ts';
export type {
  CallOptions,
  ClientOptions,
  Credential,
  FetchLike,
  HeaderValues,
  KeyedCallOptions,
} from './options.ts';
export type { Problem, ProblemAdmission, ProblemPlace } from './problem.ts';
export type { RunWaitOptions } from './wait-run.ts';
export type { World } from './world.ts';
