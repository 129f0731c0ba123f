import { limits } from '../../contracts/generated/limits.ts';
import { canonicalJson, type Json } from '../kernel/canonical-json.ts';
import { ServiceError } from '../kernel/errors.ts';
import { identifier } from '../kernel/identifiers.ts';
import { parseJson } from '../kernel/json-text.ts';
import { legible } from '../kernel/legible.ts';
import { StoreError } from '../store/port.ts';
import { losslessJson } from './lossless-json.ts';
import type { RunFailure } from './plugin.ts';
import type { Completion } from './rules/complete.ts';
import type { NewValue } from './values.ts';

/** The outcome of an attempt. Invalid values of a handler become a failure instead of an error: the run has to end. */
export type HandlerOutcome = Omit<Completion, 'result'> & { readonly result?: NewValue };

export function succeeded(result: Json, bytesMax: number): HandlerOutcome {
  let json: Json;
  let bytes: number;
  try {
    json = parseJson(losslessJson(result) ?? '') as Json;
    bytes = Buffer.byteLength(canonicalJson(json));
  } catch {
    return failed('validation', 'The result cannot be written as JSON');
  }
  if (bytes > bytesMax) return failed('validation', `The result is larger than ${bytesMax} bytes`);
  return { status: 'succeeded', failureClass: null, error: null, result: { json, bytes } };
}

export function failed(failureClass: string, error: string): HandlerOutcome {
  return { status: 'failed', failureClass, error };
}

export function cancelled(): HandlerOutcome {
  return { status: 'cancelled', failureClass: 'cancelled', error: 'The run was cancelled' };
}

const failures: readonly unknown[] = [
  'failed',
  'timed_out',
  'rejected',
  'cancelled',
] satisfies RunFailure['status'][];

export function failureOf(failure: RunFailure): HandlerOutcome {
  const status = legible(() => failure.status, 'failed');
  return {
    status: failures.includes(status) ? status : 'failed',
    failureClass: legible(() => classOf(failure.failureClass), 'unknown'),
    error: legible(() => cutText(failure.message), HANDLER_FAILED),
    ...(legible(() => failure.retryable === false, false) ? { retryable: false } : {}),
  };
}

function classOf(name: unknown): string {
  try {
    return identifier(String(name), '/failureClass');
  } catch {
    return 'unknown';
  }
}

const HANDLER_FAILED = 'The handler failed.';

/** The failure of a handler that threw. Its text may quote stored data, so only Development shows it to callers. */
export function thrown(error: unknown, showsText: boolean): HandlerOutcome {
  return failed(
    'unknown',
    (showsText ? legible(() => cutText(messageOf(error)).trim(), '') : '') || HANDLER_FAILED,
  );
}

/** The failure of a handler that left a rejected promise behind. */
export function unhandled(reason: unknown, showsText: boolean): HandlerOutcome {
  const text = showsText ? legible(() => cutText(messageOf(reason)).trim(), '') : '';
  return failed('unhandled_rejection', text || 'The handler left a rejected promise unhandled.');
}

function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message;
  return typeof error === 'string' ? error : '';
}

function cutText(text: unknown): string {
  return String(text)
    .slice(0, limits.executionErrorLengthMax)
    .replace(/(?![\t\n\r])\p{Cc}/gu, ' ')
    .toWellFormed();
}

/** Whether a retry may succeed soon. */
export function isPassing(error: unknown): boolean {
  return legible(
    () => error instanceof StoreError && (error.failure === 'contention' || error.failure === 'unavailable'),
    false,
  );
}

/** Whether this holder ended the lease itself: a completion or a wait overtook the call. */
export function endedByHolder(error: unknown): boolean {
  return legible(
    () =>
      error instanceof ServiceError &&
      error.code === 'lease_not_active' &&
      ENDED_BY_HOLDER.has(error.extensions.how),
    false,
  );
}

const ENDED_BY_HOLDER: ReadonlySet<unknown> = new Set(['completed', 'suspended', 'cancelled']);

export function isLeaseRefusal(error: unknown): boolean {
  return legible(() => error instanceof ServiceError && error.code.startsWith('lease_'), false);
}
