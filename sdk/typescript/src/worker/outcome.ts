import type { ExecutionRunResult, JsonInput } from '../generated/models.ts';
import { RunFailure } from './errors.ts';

/** How an attempt is told to the service. What handlers hand over is made to fit: the run has to end. */

export const HANDLER_FAILED = 'External plugin handler failed.';

export function succeeded(result: unknown): ExecutionRunResult {
  // Nothing is no result: what was reported before stays.
  if (result === undefined) return { status: 'succeeded' };
  const json = asJson(result);
  if (json === undefined) return failed('validation', 'The result cannot be written as JSON');
  return { status: 'succeeded', result: json };
}

export function failed(failureClass: string, error: string): ExecutionRunResult {
  return { status: 'failed', failureClass, error };
}

/** A result that the handler gave all the same is kept. */
export function cancelled(result?: unknown): ExecutionRunResult {
  const json = result === undefined ? undefined : asJson(result);
  const told = { status: 'cancelled', failureClass: 'cancelled', error: 'The run was cancelled' } as const;
  return json === undefined ? told : { ...told, result: json };
}

/** What a handler threw. Only a `RunFailure` is meant to be read by others. */
export function failureFrom(error: unknown): ExecutionRunResult {
  if (!(error instanceof RunFailure)) return failed('unknown', HANDLER_FAILED);
  const { status, failureClass, message } = error;
  return {
    status: statuses.has(status) ? status : 'failed',
    failureClass: classOf(failureClass),
    error: cutText(message),
  };
}

const statuses: ReadonlySet<unknown> = new Set([
  'failed',
  'timed_out',
  'rejected',
] satisfies RunFailure['status'][]);

/** As it is sent each time, whatever becomes of the object; `undefined` where it is no JSON. */
function asJson(value: unknown): JsonInput | undefined {
  try {
    const text = JSON.stringify(value) as string | undefined;
    return text === undefined ? undefined : (JSON.parse(text) as JsonInput);
  } catch {
    return undefined;
  }
}

const CLASS_LENGTH_MAX = 160;
const CLASS_BYTES_MAX = 400;
const ERROR_LENGTH_MAX = 4_096;
const loneSurrogate = /\p{Cs}/gu;

/** As the service keeps the classes of its own handlers: one that is no identifier is `unknown`. */
function classOf(name: unknown): string {
  const text = String(name).trim();
  const bytes = new TextEncoder().encode(text).length;
  const fits = text !== '' && text.length <= CLASS_LENGTH_MAX && bytes <= CLASS_BYTES_MAX;
  return fits && !/[\p{Cc}\p{Cs}]/u.test(text) ? text : 'unknown';
}

function cutText(text: string): string {
  return text
    .slice(0, ERROR_LENGTH_MAX)
    .replace(/\p{Cc}/gu, ' ')
    .replace(loneSurrogate, '\ufffd');
}
