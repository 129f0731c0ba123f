import { boundedBody, isDeep, REFUSAL_BYTES_MAX } from './bounded.ts';
import {
  APIAbortError,
  APIConnectionError,
  APIResponseError,
  APIStatusError,
  APITimeoutError,
  type SvcError,
  statusError,
} from './errors.ts';
import { parseJson } from './json-text.ts';
import { methodOf, type OperationName, type OperationSpec } from './operation.ts';
import { PROBLEM, problemOf } from './problem.ts';
import { type Failure, retryAfterOf } from './retry.ts';
import type { World } from './world.ts';

/** Classifies an answer of the service by its status, headers and body. */

/** How to read the body of an answer; `null` for a refusal. */
export function formOf(operation: OperationSpec, response: Response): 'json' | 'bytes' | 'none' | null {
  const mediaType = mediaTypeOf(response);
  if (mediaType === PROBLEM) return null;
  const described = operation.answers[response.status];
  if (described !== undefined || !response.ok) return described ?? null;
  // A later release may answer with another success.
  return /^application\/([\w.-]+\+)?json$/.test(mediaType) ? 'json' : 'none';
}

/**
 * The error of a refusal. A body that is incomplete, too long or cannot be decoded counts as no problem document: the
 * status alone decides the class of the error.
 */
export async function refusal(
  operation: OperationName,
  response: Response,
  { world, maxResponseBytes }: { readonly world: World; readonly maxResponseBytes: number },
): Promise<SvcError> {
  const { status, headers } = response;
  const bytesMax = Math.min(maxResponseBytes, REFUSAL_BYTES_MAX);
  const text = await boundedBody(operation, response, bytesMax).then(decoded, () => null);
  const problem = text === null ? null : problemOf(mediaTypeOf(response), text);
  const retryAfter = retryAfterOf(headers.get('retry-after'), problem?.retryAfterSeconds, world.now());
  // A browser hides a redirect behind the status 0.
  const isRedirect = status === 0 || (status >= 300 && status < 400 && status !== 304);
  return statusError({ operation: operation.id, status, headers, problem, retryAfter, isRedirect });
}

/** Whether the service says that something does not exist; a 404 of a proxy or of another route does not say so. */
export function isAbsence(error: SvcError): boolean {
  return error instanceof APIStatusError && /^(collection_)?not_found$/.test(error.code ?? '');
}

/** The text of UTF-8 bytes; `null` if they are not valid UTF-8. */
function decoded(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

export function parsed(operation: OperationName, bytes: Uint8Array): unknown {
  try {
    const text = decoded(bytes) ?? '';
    if (isDeep(text)) throw new RangeError('the JSON is nested too deeply');
    return parseJson(text);
  } catch (cause) {
    throw new APIResponseError(`${methodOf(operation)}: the answer is no JSON.`, {
      operation: operation.id,
      cause,
    });
  }
}

function mediaTypeOf({ headers }: Response): string {
  return (headers.get('content-type') ?? '').replace(/;.*$/s, '').trim().toLowerCase();
}

export function failureOf(error: unknown): Failure {
  if (error instanceof APIStatusError) {
    const { status, retryable, retryAfter } = error;
    return {
      kind: 'status',
      status,
      retryable,
      retryAfterMs: retryAfter === null ? null : retryAfter * 1000,
    };
  }
  if (error instanceof APITimeoutError) return { kind: 'timeout' };
  if (error instanceof APIAbortError) return { kind: 'abort' };
  return { kind: error instanceof APIConnectionError ? 'connection' : 'response' };
}
