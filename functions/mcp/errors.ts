import { isJsonObject, type JsonMembers } from '../kernel/json-kinds.ts';
import type { FieldValue } from './header-fields.ts';

/** The error codes of the protocol: those of JSON-RPC 2.0 section 5.1, then its own. */
export const ErrorCode = {
  parse: -32700,
  invalidRequest: -32600,
  unknownMethod: -32601,
  invalidParams: -32602,
  internal: -32603,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
  /** Only in revisions before 2026-07-28, which answers -32602. */
  resourceNotFound: -32002,
} as const;

/** Errors with other codes have the status 200, like results. */
const statuses: Readonly<Record<number, number>> = {
  [ErrorCode.parse]: 400,
  [ErrorCode.invalidRequest]: 400,
  [ErrorCode.unknownMethod]: 404,
  [ErrorCode.headerMismatch]: 400,
  [ErrorCode.missingCapability]: 400,
  [ErrorCode.unsupportedVersion]: 400,
};

interface HttpFacts {
  readonly status?: number;
  readonly retryAfterSeconds?: number | undefined;
}

/** A JSON-RPC error. The service writes its message; `data` holds values of the request only if the revision requires them. */
export class McpError extends Error {
  readonly code: number;
  readonly data: JsonMembers | undefined;
  /** The HTTP status of the answer. */
  readonly status: number;
  /** Time after which the client should try again. */
  readonly retryAfterSeconds: number | undefined;

  constructor(code: number, message: string, data?: JsonMembers, http: HttpFacts = {}) {
    super(message);
    this.name = 'McpError';
    this.code = code;
    this.data = data;
    this.status = http.status ?? statuses[code] ?? 200;
    this.retryAfterSeconds = http.retryAfterSeconds;
  }
}

export function invalidParams(message: string, data?: JsonMembers): McpError {
  return new McpError(ErrorCode.invalidParams, message, data);
}

/** Refuses an incomplete `_meta`. Other invalid parameters do not have the status 400. */
export function invalidMeta(message: string): McpError {
  return new McpError(ErrorCode.invalidParams, message, undefined, { status: 400 });
}

/** `source` is the part of the body that the header repeats, in words of the service. */
export function headerMismatch(header: string, field: FieldValue, source: string): McpError {
  const words =
    field === 'absent'
      ? `is missing; send ${source}`
      : field === 'malformed'
        ? `cannot be read; send ${source} once`
        : `differs from ${source}`;
  return new McpError(ErrorCode.headerMismatch, `Header mismatch: ${header} ${words}`);
}

export function foreignHeader(header: string): McpError {
  return new McpError(ErrorCode.headerMismatch, `Header mismatch: ${header} repeats no value of the body`);
}

/**
 * Says what is served and what to do, because many programs show their user nothing but this text. `supported` are the revisions
 * among which the client can choose with the next request.
 */
export function unsupportedVersion(
  requested: string,
  served: readonly string[],
  supported: readonly string[] = served,
): McpError {
  const words = `Unsupported protocol version: ${servedWords(served)}`;
  return new McpError(ErrorCode.unsupportedVersion, words, { supported, requested });
}

/** A request that names no revision, where all that are served name theirs. */
export function missingVersion(header: string, served: readonly string[]): McpError {
  const words = `Header mismatch: ${header} is missing; ${servedWords(served)}`;
  return new McpError(ErrorCode.headerMismatch, words);
}

function servedWords(served: readonly string[]): string {
  return `this endpoint serves ${served.join(', ')}; set the client to one of these revisions`;
}

export function unknownMethod(): McpError {
  return new McpError(ErrorCode.unknownMethod, 'Method not found');
}

/** Names the capabilities in the message as well: many programs show their user no `data`. */
export function missingCapability(requiredCapabilities: JsonMembers): McpError {
  const { extensions, ...others } = requiredCapabilities;
  const names = [...Object.keys(others), ...(isJsonObject(extensions) ? Object.keys(extensions) : [])];
  const words = `Missing required client capability: ${names.join(', ')}; the client declares it in each request`;
  return new McpError(ErrorCode.missingCapability, words, { requiredCapabilities });
}
