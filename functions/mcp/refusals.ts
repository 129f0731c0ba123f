import { problems } from '../../contracts/generated/errors.ts';
import { retryAfterOf, serviceErrorOf } from '../http/problem.ts';
import type { JsonObject } from '../kernel/canonical-json.ts';
import { ExpectedAbsence, refusalWords, type ServiceError } from '../kernel/errors.ts';
import { describeFailure } from '../kernel/log.ts';
import type { McpContext, ToolResult } from './catalog.ts';
import { ErrorCode, McpError } from './errors.ts';
import type { McpParts, Refusal } from './exchange.ts';
import { PROBLEM } from './names.ts';
import { ownPointer } from './own-pointer.ts';
import { ownWords } from './own-words.ts';

/** The code and severity that the log shows for the same refusal over REST, independent of the status of the MCP answer. */
export function refusalFor(error: unknown): Refusal {
  if (error instanceof McpError) {
    const severity = error.code === ErrorCode.internal ? 'ERROR' : 'WARNING';
    return { code: String(error.code), severity };
  }
  const { code } = serviceErrorOf(error);
  if (error instanceof ExpectedAbsence) return { code, severity: 'INFO' };
  return { code, severity: problems[code].status >= 500 ? 'ERROR' : 'WARNING' };
}

/** The names of a call in the log and in the answer. */
type CallNames = Pick<McpContext, 'correlationId' | 'trace'>;

/** The arguments of a call, and the schema of its tool. */
export interface GivenArguments {
  readonly given: JsonObject;
  readonly inputSchema: JsonObject;
}

/**
 * The text of a tool error for a refusal, without texts of the arguments. An unexpected error is logged, and its text gives no
 * detail.
 */
export function toolError(
  error: unknown,
  { given, inputSchema }: GivenArguments,
  parts: McpParts,
  names: CallNames,
): ToolResult {
  const refusal = refusalOf(error, parts, names);
  const refused = refusalWords(refusal, 'The call', (pointer) => ownPointer(pointer, inputSchema));
  return {
    resultType: 'complete',
    content: [{ type: 'text', text: `${ownWords(refused, given)} (${refusal.code})${waitWords(refusal)}` }],
    isError: true,
    _meta: { [PROBLEM]: problemMembers(refusal, names) },
  };
}

/** The waiting time for a model, which sees no header. */
function waitWords(refusal: ServiceError): string {
  const seconds = retryAfterOf(refusal);
  return seconds === undefined ? '' : ` Try again after ${seconds} s.`;
}

/** Converts any thrown value to a JSON-RPC error. */
export function mcpErrorOf(error: unknown, parts: McpParts, names: CallNames): McpError {
  if (error instanceof McpError) return error;
  const refusal = refusalOf(error, parts, names);
  const { status, title, retryable } = problems[refusal.code];
  const data = { [PROBLEM]: problemMembers(refusal, names) };
  // The revision has no code for a busy server, so the HTTP status shows it, as over REST.
  if (retryable && (status === 429 || status === 503))
    return new McpError(ErrorCode.internal, `${title}: ${refusal.message}`, data, {
      status,
      retryAfterSeconds: retryAfterOf(refusal),
    });
  return new McpError(ErrorCode.internal, `Internal error: ${refusal.message}`, data);
}

function refusalOf(error: unknown, { log }: McpParts, { correlationId, trace }: CallNames): ServiceError {
  const refusal = serviceErrorOf(error);
  if (refusal.code === 'internal_error')
    log({
      severity: 'ERROR',
      message: 'an answer of the catalog failed',
      operation: 'mcp',
      correlationId,
      trace,
      failure: describeFailure(refusal.cause ?? refusal),
    });
  return refusal;
}

function problemMembers(refusal: ServiceError, { correlationId, trace }: CallNames): JsonObject {
  const { code } = refusal;
  const retryAfterSeconds = retryAfterOf(refusal);
  return {
    code,
    retryable: problems[code].retryable,
    correlationId,
    ...(trace === undefined ? {} : { traceId: trace.traceId }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  };
}
