import { CallTime } from './call-time.ts';
import { credentialHeaders } from './credentials.ts';
import {
  APIAbortError,
  APIConnectionError,
  APIResponseError,
  APIStatusError,
  APITimeoutError,
  SvcError,
  statusError,
} from './errors.ts';
import type { CallInput, OperationSpec } from './operation.ts';
import { checkRetries, checkTimeout, type KeyedCallOptions, type Settings } from './options.ts';
import { PROBLEM, problemOf } from './problem.ts';
import { type WireRequest, wireRequest } from './request.ts';
import { type Failure, parseRetryAfter, retryDelay } from './retry.ts';
import { pause, type World } from './world.ts';

/** What a call ended with. */
export interface Outcome {
  readonly response: Response;
  /** What the body holds; `undefined` where it was left unread. */
  readonly data: unknown;
}

/**
 * The request as it is when the call is made, whatever becomes of the caller's objects before it is sent. What is wrong with
 * it is thrown by whoever asks for it, so that a call fails in one way only.
 */
export function prepared(
  { world, headers }: Settings,
  operation: OperationSpec,
  input: CallInput,
  options: KeyedCallOptions,
): () => WireRequest {
  try {
    const request = wireRequest(operation, input, { headers, options }, boundary(world));
    return () => request;
  } catch (error) {
    const { id } = operation;
    // What the platform says of a header or a value quotes it.
    const told =
      error instanceof SvcError
        ? error
        : new SvcError(`${id} was given what no request can carry.`, { operation: id });
    return () => {
      throw told;
    };
  }
}

/** Makes a call: sends it, and again where that is safe and there is time. With `raw` the body of a success is left unread. */
export async function exchange(
  settings: Settings,
  operation: OperationSpec,
  requestOf: () => WireRequest,
  { raw, ...options }: KeyedCallOptions & { readonly raw: boolean },
): Promise<Outcome> {
  const { world } = settings;
  const timeout = checkTimeout(options.timeout ?? settings.timeout);
  const maxRetries = checkRetries(options.maxRetries ?? settings.maxRetries);
  const request = requestOf();
  const until = world.now() + timeout;
  const time = new CallTime(operation.id, options.signal);
  const cancel = world.after(timeout, () => time.end());
  try {
    for (let failures = 1; ; failures += 1) {
      try {
        time.check();
        return await time.bound(attempt(settings, operation, request, { signal: time.signal, raw }));
      } catch (error) {
        const delay = retryDelay({
          retry: operation.retry,
          keyGiven: request.keyGiven,
          replayable: request.replayable,
          failure: failureOf(error),
          failures,
          maxRetries,
          remainingMs: until - world.now(),
          random: world.random(),
        });
        if (delay === null) throw error;
        await pause(world, delay, time.signal);
      }
    }
  } finally {
    cancel();
  }
}

function boundary(world: World): string {
  const word = () => Math.trunc(world.random() * 2 ** 32).toString(36);
  return `svc-${word()}-${word()}-${word()}-${word()}`;
}

interface AttemptOptions {
  readonly signal: AbortSignal;
  readonly raw: boolean;
}

async function attempt(
  settings: Settings,
  operation: OperationSpec,
  request: WireRequest,
  { signal, raw }: AttemptOptions,
): Promise<Outcome> {
  const headers = new Headers(request.headers);
  for (const [name, value] of await credentialHeaders(settings))
    if (!headers.has(name)) headers.set(name, value);
  const body = request.body();
  const init: RequestInit & { duplex?: 'half' } = {
    method: request.method,
    headers,
    redirect: 'manual',
    signal,
  };
  if (body !== undefined) init.body = body;
  if (body instanceof ReadableStream) init.duplex = 'half';
  const response = await connected(operation.id, () =>
    settings.fetch(`${settings.baseUrl}${request.target}`, init),
  );
  const form = formOf(operation, response);
  if (form === null) throw await refusal(operation.id, response, settings.world);
  if (raw) return { response, data: undefined };
  if (form === 'bytes') return { response, data: response.body ?? new Blob([]).stream() };
  if (form === 'none') {
    await response.body?.cancel();
    return { response, data: null };
  }
  const text = await connected(operation.id, () => response.text());
  return { response, data: parsed(operation.id, text) };
}

async function connected<T>(operation: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw new APIConnectionError(`${operation}: the connection failed, and no whole answer came.`, {
      operation,
      cause,
    });
  }
}

/** How an answer is read; `null` where it is a refusal. */
function formOf(operation: OperationSpec, response: Response): 'json' | 'bytes' | 'none' | null {
  const mediaType = mediaTypeOf(response);
  if (mediaType === PROBLEM) return null;
  const described = operation.answers[response.status];
  if (described !== undefined || !response.ok) return described ?? null;
  // A later release may answer with another success.
  return /^application\/([\w.-]+\+)?json$/.test(mediaType) ? 'json' : 'none';
}

async function refusal(operation: string, response: Response, world: World): Promise<SvcError> {
  const { status, headers } = response;
  if (response.type === 'opaqueredirect')
    return new APIResponseError(`${operation}: a redirect, which is not followed.`, { operation });
  const text = await connected(operation, () => response.text());
  const problem = problemOf(mediaTypeOf(response), text);
  const header = parseRetryAfter(headers.get('retry-after'), world.now());
  const said = header === null ? undefined : header / 1000;
  return statusError({
    operation,
    status,
    headers,
    problem,
    retryAfter: said ?? problem?.retryAfterSeconds ?? null,
  });
}

function parsed(operation: string, text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new APIResponseError(`${operation}: the answer is no JSON.`, { operation, cause });
  }
}

function mediaTypeOf({ headers }: Response): string {
  return (headers.get('content-type') ?? '').replace(/;.*$/s, '').trim().toLowerCase();
}

function failureOf(error: unknown): Failure {
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
