import type { JsonObject } from '../../kernel/canonical-json.ts';
import { beforePaidCall } from '../../kernel/paid-calls.ts';
import { delay, type RandomSource, type World } from '../../kernel/world.ts';
import { ProviderFailure } from '../failure.ts';
import { RefusedAddress } from './addresses.ts';
import { readAnswer } from './answer.ts';
import { throwIfAborted, untilAborted } from './until-aborted.ts';

const TRIES_MAX = 3;
const FIRST_WAIT_MS = 500;

export interface ProviderCall {
  readonly url: string;
  readonly headers: Headers;
  readonly body: JsonObject;
  /** Bytes of the answer. */
  readonly answerBytesMax: number;
}

export interface CallBounds {
  /** For all tries and the waits between them. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Awaited before each try: it throws where the request may not be sent. */
  readonly admit?: (() => Promise<void>) | undefined;
}

/**
 * Posts JSON to a provider and returns the JSON of its answer. Retries temporary failures, three tries in all, within
 * the time limit and only while `admit` allows. Throws a `ProviderFailure`, the error of `admit` for the first try, or
 * `Draining`.
 */
export async function callProvider(world: World, call: ProviderCall, bounds: CallBounds): Promise<unknown> {
  const end = world.clock.now() + bounds.timeoutMs;
  beforePaidCall();
  await bounds.admit?.();
  for (let tries = 1; ; tries += 1) {
    try {
      return await tryOnce(world, call, end - world.clock.now(), bounds.signal);
    } catch (error) {
      if (!(error instanceof ProviderFailure) || !error.isRetryable || tries === TRIES_MAX) throw error;
      const wait = waitOf(world.random, tries, error.retryAfterMs);
      if (wait >= end - world.clock.now()) throw error;
      await untilAborted(delay(world.timers, wait), bounds.signal);
      beforePaidCall();
      if (!(await isAdmitted(bounds))) throw error;
    }
  }
}

/** The failure of the previous try is more informative than the refusal of a further one. */
async function isAdmitted({ admit }: CallBounds): Promise<boolean> {
  if (admit === undefined) return true;
  return admit().then(
    () => true,
    () => false,
  );
}

/** Half of the wait is random, so that callers that failed together do not retry together. */
function waitOf(random: RandomSource, tries: number, retryAfterMs: number | null): number {
  const chance = (random.bytes(1)[0] ?? 0) / 255;
  const own = FIRST_WAIT_MS * 2 ** (tries - 1) * (0.5 + chance / 2);
  return Math.max(Math.round(own), retryAfterMs ?? 0);
}

async function tryOnce(
  world: World,
  call: ProviderCall,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<unknown> {
  const controller = new AbortController();
  const { promise: timedOut, reject } = Promise.withResolvers<never>();
  const late = new ProviderFailure('timeout', 'client_timeout', 'The provider did not answer in time.');
  // The admission may have taken the time, and a request that is sent costs money.
  throwIfAborted(signal);
  if (timeoutMs <= 0) throw late;
  const cancel = world.timers.after(Math.max(0, timeoutMs), () => reject(late));
  try {
    return await untilAborted(Promise.race([exchange(world, call, controller.signal), timedOut]), signal);
  } finally {
    cancel();
    // Releases the connection of an answer that was not read to its end.
    controller.abort();
  }
}

async function exchange(
  world: World,
  { url, headers, body, answerBytesMax }: ProviderCall,
  signal: AbortSignal,
): Promise<unknown> {
  const fields = new Headers(headers);
  fields.set('accept', 'application/json');
  fields.set('content-type', 'application/json');
  try {
    const init = {
      method: 'POST',
      headers: fields,
      body: JSON.stringify(body),
      redirect: 'manual',
      signal,
    } as const;
    return await readAnswer(await world.http(url, init), answerBytesMax, world);
  } catch (error) {
    throw failureOf(error);
  }
}

/** Omits the text of the error: the error of an invalid header repeats the value of the header. */
function failureOf(error: unknown): ProviderFailure {
  if (error instanceof ProviderFailure) return error;
  if (error instanceof RefusedAddress)
    return new ProviderFailure('configuration', 'address_refused', 'No provider is called at this address.');
  const message = 'The connection to the provider broke.';
  return new ProviderFailure('network', 'connection_failed', message, { isRetryable: true });
}
