import { gatherBytes } from '../../kernel/byte-blocks.ts';
import { delay, type OutgoingHttp, type RandomSource, type Timers } from '../../kernel/world.ts';
import { BlobError } from '../port.ts';
import type { Credentials } from './credentials.ts';

export interface RequestOptions {
  /** Such as `https://storage.googleapis.com`. */
  readonly endpoint: string;
  /** `null` for an endpoint without authentication. */
  readonly credentials: Credentials | null;
  readonly http: OutgoingHttp;
  readonly timers: Timers;
  readonly random: RandomSource;
}

export interface StorageCall {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** With its query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The parts of the body. They are sent in order and not joined into one buffer. */
  readonly body?: readonly Uint8Array[];
  /** The largest answer; a larger one is an error. */
  readonly answerBytesMax: number;
  /** The size of a good answer, which is then read into one buffer. */
  readonly answerBytes?: number;
}

export interface StorageAnswer {
  readonly status: number;
  readonly body: Uint8Array;
}

export const jsonBytesMax = 4 * 1024 * 1024;

const sliceBytes = 256 * 1024;
const triesMax = 4;
const tryMs = 30_000;
const firstPauseMs = 500;
const pauseMsMax = 8000;

/** Failures worth a retry: https://cloud.google.com/storage/docs/retry-strategy. */
const passing = new Set([408, 429, 500, 502, 503, 504]);

/**
 * Calls of the JSON API. Every call may be sent again: a read changes nothing, a second delete deletes nothing, and an
 * object is only created where none exists. So a call with a lost answer is tried a few times, with growing pauses.
 */
export class StorageRequests {
  readonly #options: RequestOptions;

  constructor(options: RequestOptions) {
    this.#options = options;
  }

  /**
   * Returns every answer except 408, 429, 500, 502, 503 and 504. Throws `unavailable` if the last try gets one of these or no answer,
   * and `corrupt` for an answer above its bound.
   */
  async send(call: StorageCall): Promise<StorageAnswer> {
    for (let tries = 1; ; tries++) {
      const outcome = await this.#try(call);
      if ('answer' in outcome) return outcome.answer;
      if (tries === triesMax || outcome.final === true) throw outcome.failure;
      await delay(this.#options.timers, Math.max(this.#pauseMs(tries), outcome.afterMs ?? 0));
    }
  }

  async #try(call: StorageCall): Promise<Outcome> {
    const late = Promise.withResolvers<never>();
    const aborting = new AbortController();
    const cancel = this.#options.timers.after(tryMs, () => {
      late.reject(new Error(`no answer within ${tryMs} ms`));
      aborting.abort();
    });
    try {
      return await Promise.race([this.#exchange(call, aborting.signal), late.promise]);
    } catch (error) {
      if (error instanceof BlobError) return { failure: error, final: true };
      return { failure: new BlobError('unavailable', `Cloud Storage: ${textOf(error)}`, { cause: error }) };
    } finally {
      cancel();
    }
  }

  async #exchange(call: StorageCall, signal: AbortSignal): Promise<Outcome> {
    const { endpoint, credentials, http } = this.#options;
    const headers = new Headers(credentials === null ? {} : await credentials());
    for (const [name, value] of Object.entries(call.headers ?? {})) headers.set(name, value);
    const { method, body } = call;
    // Bytes that are given whole would be copied by `fetch`.
    const sent =
      body === undefined ? {} : { body: ReadableStream.from(slicesOf(body)), duplex: 'half' as const };
    if (body !== undefined) headers.set('content-length', String(bytesOf(body)));
    // A redirect would take the credentials elsewhere.
    const response = await http(`${endpoint}${call.path}`, {
      method,
      headers,
      ...sent,
      signal,
      redirect: 'error',
    });
    const isPassing = passing.has(response.status);
    const answer = { status: response.status, body: await bodyOf(response, call) };
    if (!isPassing) return { answer };
    return { failure: refusal(answer), afterMs: retryAfterMs(response) };
  }

  /** Random between half of the pause and all of it, so that callers that failed together do not retry together. */
  #pauseMs(tries: number): number {
    const [byte = 0] = this.#options.random.bytes(1);
    return Math.min(firstPauseMs * 2 ** (tries - 1), pauseMsMax) * (0.5 + byte / 510);
  }
}

type Outcome =
  | { readonly answer: StorageAnswer }
  | { readonly failure: BlobError; readonly afterMs?: number; readonly final?: boolean };

/** An answer that no caller expects, such as a missing permission. */
export function refusal({ status, body }: StorageAnswer): BlobError {
  const failure = status === 413 ? 'too_large' : 'unavailable';
  return new BlobError(failure, `Cloud Storage answered ${status}${messageIn(body)}`);
}

function messageIn(body: Uint8Array): string {
  try {
    const { error } = JSON.parse(Buffer.from(body).toString()) as { error: { message: string } };
    return `: ${error.message.slice(0, 300)}`;
  } catch {
    // A proxy may answer with a page of its own.
    return '';
  }
}

function* slicesOf(parts: readonly Uint8Array[]): Generator<Uint8Array, void, undefined> {
  for (const part of parts)
    for (let at = 0; at < part.byteLength; at += sliceBytes) yield part.subarray(at, at + sliceBytes);
}

function bytesOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, { byteLength }) => sum + byteLength, 0);
}

function bodyOf(response: Response, { answerBytesMax, answerBytes }: StorageCall): Promise<Uint8Array> {
  if (!response.ok) return readBounded(response, jsonBytesMax);
  if (answerBytes === undefined) return readBounded(response, answerBytesMax);
  return readInto(response, Buffer.allocUnsafeSlow(answerBytes));
}

function readBounded(response: Response, bytesMax: number): Promise<Uint8Array> {
  return gatherBytes(response.body ?? [], bytesMax, tooMuch);
}

/** As much of the buffer as the answer has. */
async function readInto(response: Response, bytes: Buffer): Promise<Uint8Array> {
  let size = 0;
  for await (const chunk of response.body ?? []) {
    if (size + chunk.byteLength > bytes.byteLength) throw tooMuch();
    bytes.set(chunk, size);
    size += chunk.byteLength;
  }
  return bytes.subarray(0, size);
}

function tooMuch(): BlobError {
  return new BlobError('corrupt', 'Cloud Storage sent more than the object has');
}

function retryAfterMs(response: Response): number {
  const seconds = Number(response.headers.get('retry-after') ?? 0);
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds * 1000, pauseMsMax) : 0;
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
