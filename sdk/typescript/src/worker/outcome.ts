import type { ExecutionRunResult, JsonInput } from '../generated/models.ts';
import { parseJson } from '../json-text.ts';
import { RunFailure } from './errors.ts';
import { legible, messageOf } from './legible.ts';
import { losslessJson } from './lossless-json.ts';

/** The result that an attempt sends to the service. It is cut to the limits of the service, because the run has to end. */

const HANDLER_FAILED = 'External plugin handler failed.';

export function succeeded(result: unknown): ExecutionRunResult {
  // No return value: the service keeps an earlier reported result.
  if (result === undefined) return { status: 'succeeded' };
  const json = asJson(result);
  if (json === undefined) return failed('validation', 'The result cannot be written as JSON');
  return { status: 'succeeded', result: json };
}

export function failed(failureClass: string, error: string): ExecutionRunResult {
  return { status: 'failed', failureClass, error };
}

/** A cancelled run keeps the result that its handler returned. */
export function cancelled(result?: unknown): ExecutionRunResult {
  const json = result === undefined ? undefined : asJson(result);
  const ending = { status: 'cancelled', failureClass: 'cancelled', error: 'The run was cancelled' } as const;
  return json === undefined ? ending : { ...ending, result: json };
}

export interface ServerTraits {
  /** Whether the lease is one of a Development server. */
  readonly showsText: boolean;
  readonly knowsRetryable: boolean;
}

/**
 * The result for an error of a handler. The message of an error that is no `RunFailure` may be confidential: it is sent
 * only if `showsText`.
 */
export function failureFrom(error: unknown, { showsText, knowsRetryable }: ServerTraits): ExecutionRunResult {
  if (!isRunFailure(error)) {
    const text = showsText ? cutText(messageOf(error)).trim() : '';
    return failed('unknown', text || HANDLER_FAILED);
  }
  const status = legible(() => error.status, 'failed');
  const isFinal = !legible(() => error.retryable, true);
  const failureClass = legible(() => classOf(error.failureClass), 'unknown');
  return {
    status: statuses.has(status) ? status : 'failed',
    failureClass: isFinal && !knowsRetryable ? 'validation' : failureClass,
    error: legible(() => cutText(error.message), HANDLER_FAILED),
    ...(isFinal && knowsRetryable ? { retryable: false } : {}),
  };
}

export function isRunFailure(error: unknown): error is RunFailure {
  return legible(() => error instanceof RunFailure, false);
}

const statuses: ReadonlySet<unknown> = new Set([
  'failed',
  'timed_out',
  'rejected',
] satisfies RunFailure['status'][]);

/** A copy as JSON, the same for each attempt to send it; `undefined` if the value cannot be JSON. */
function asJson(value: unknown): JsonInput | undefined {
  try {
    const text = losslessJson(value);
    return text === undefined ? undefined : (parseJson(text) as JsonInput);
  } catch {
    return undefined;
  }
}

const CLASS_LENGTH_MAX = 160;
const CLASS_BYTES_MAX = 400;
const ERROR_LENGTH_MAX = 4_096;
const loneSurrogate = /\p{Cs}/gu;

/** The class by the service's rule: a class that is no identifier becomes `unknown`. */
function classOf(name: unknown): string {
  const text = String(name).trim();
  const bytes = new TextEncoder().encode(text).length;
  const fits = text !== '' && text.length <= CLASS_LENGTH_MAX && bytes <= CLASS_BYTES_MAX;
  return fits && !/[\p{Cc}\p{Cs}]/u.test(text) ? text : 'unknown';
}

function cutText(text: unknown): string {
  return String(text)
    .slice(0, ERROR_LENGTH_MAX)
    .replace(/(?![\t\n\r])\p{Cc}/gu, ' ')
    .replace(loneSurrogate, '\ufffd');
}
