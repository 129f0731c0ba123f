import { failureOf, formOf, isAbsence, parsed, refusal } from './answer.ts';
import { boundedBody } from './bounded.ts';
import { CallTime } from './call-time.ts';
import { connected } from './connected.ts';
import { withCredentials } from './credentials.ts';
import { SvcError } from './errors.ts';
import { idleBounded, withBody } from './idle.ts';
import { type CallInput, methodOf, type OperationSpec } from './operation.ts';
import {
  checkCarried,
  checkResponseBytes,
  checkRetries,
  checkTimeout,
  type KeyedCallOptions,
  type Settings,
} from './options.ts';
import { type WireRequest, wireRequest } from './request.ts';
import { settleAttempt } from './retry-budget.ts';
import { pause, type World } from './world.ts';

/** The result of a successful call. */
export interface Outcome {
  readonly response: Response;
  /** The content of the body; `undefined` if it is unread. */
  readonly data: unknown;
}

/**
 * Builds the request when the call is made, so later changes of the caller's objects have no effect. The returned function
 * throws the faults of the request: a call always fails by rejection, never synchronously.
 */
export function prepared(
  settings: Settings,
  operation: OperationSpec,
  input: CallInput,
  options: KeyedCallOptions,
): () => WireRequest {
  try {
    const { world, headers } = settings;
    checkCarried(settings, options.headers ?? {});
    const request = wireRequest(operation, input, { headers, options }, boundary(world));
    return () => request;
  } catch (error) {
    // Hide the platform's error: it quotes the header or the value.
    const shown =
      error instanceof SvcError
        ? error
        : new SvcError(`${methodOf(operation)} was given a value that cannot be sent.`, {
            operation: operation.id,
          });
    return () => {
      throw aimed(shown, settings, operation, operation.path);
    };
  }
}

/** Sends a call, and retries it while that is safe, the budget allows it and time remains. With `raw` the body of a success stays unread. */
export async function exchange(
  settings: Settings,
  operation: OperationSpec,
  requestOf: () => WireRequest,
  {
    raw,
    query,
    ...options
  }: KeyedCallOptions & { readonly raw: boolean; readonly query?: string | undefined },
): Promise<Outcome> {
  const { world, server } = settings;
  const timeout = checkTimeout(options.timeout ?? settings.timeout);
  const maxRetries = checkRetries(options.maxRetries ?? settings.maxRetries);
  const maxResponseBytes = checkResponseBytes(options.maxResponseBytes ?? settings.maxResponseBytes);
  const request = withQuery(requestOf(), query);
  const until = world.now() + timeout;
  const time = new CallTime(operation, options.signal);
  const cancel = world.after(timeout, () => time.end());
  try {
    for (let failures = 1; ; failures += 1) {
      try {
        time.check();
        const outcome = await time.bound(
          attempt(settings, operation, request, { time, timeout, raw, maxResponseBytes }),
        );
        settleAttempt(world, server, null);
        return outcome;
      } catch (thrown) {
        // The caller's `await` comes first, also where the signal was aborted before the call.
        await Promise.resolve().then();
        const error = time.traced(thrown);
        const delay = settleAttempt(world, server, {
          retry: operation.retry,
          keyGiven: request.keyGiven,
          replayable: request.failures === undefined,
          failure: failureOf(error),
          failures,
          maxRetries,
          remainingMs: until - world.now(),
          random: world.random(),
        });
        if (delay === null) throw aimed(error, settings, operation, request.target);
        await pause(world, delay, time.signal);
      }
    }
  } finally {
    cancel();
  }
}

/** The error with the target of its request, without the query, which may hold what a log should not. */
function aimed(error: unknown, { baseUrl }: Settings, { method }: OperationSpec, target: string): unknown {
  if (error instanceof SvcError)
    Object.assign(error, { target: `${method} ${baseUrl}${target.split('?')[0]}` });
  return error;
}

/** The request with another query, for a later page of the same list. */
function withQuery(request: WireRequest, query: string | undefined): WireRequest {
  if (query === undefined) return request;
  return { ...request, target: `${request.target.replace(/\?.*$/s, '')}?${query}` };
}

function boundary(world: World): string {
  const word = () => Math.trunc(world.random() * 2 ** 32).toString(36);
  return `svc-${word()}-${word()}-${word()}-${word()}`;
}

interface AttemptOptions {
  readonly time: CallTime;
  readonly timeout: number;
  readonly raw: boolean;
  readonly maxResponseBytes: number;
}

async function attempt(
  settings: Settings,
  operation: OperationSpec,
  request: WireRequest,
  { time, timeout, raw, maxResponseBytes }: AttemptOptions,
): Promise<Outcome> {
  const headers = await withCredentials(settings, request);
  const body = request.body();
  const init: RequestInit & { duplex?: 'half' } = {
    method: request.method,
    headers,
    redirect: 'manual',
    signal: time.signal,
  };
  if (body !== undefined) init.body = body;
  if (body instanceof ReadableStream) init.duplex = 'half';
  const response = await connected(operation, () =>
    settings.fetch(`${settings.baseUrl}${request.target}`, init),
  ).catch((error: unknown) => {
    const [own = error] = request.failures ?? [];
    throw own;
  });
  const form = formOf(operation, response);
  const { world } = settings;
  if (form === null) {
    const error = await refusal(operation, response, { world, maxResponseBytes });
    if (raw || operation.absent !== true || !isAbsence(error)) throw error;
    return { response, data: null };
  }
  const streamed = () =>
    response.body === null ? null : idleBounded(operation, response.body, { time, world, idleMs: timeout });
  if (raw) return { response: withBody(response, streamed()), data: undefined };
  if (form === 'bytes') return { response, data: streamed() ?? new Blob([]).stream() };
  if (form === 'none') {
    await response.body?.cancel();
    return { response, data: null };
  }
  const bytes = await boundedBody(operation, response, maxResponseBytes);
  return { response, data: parsed(operation, bytes) };
}
