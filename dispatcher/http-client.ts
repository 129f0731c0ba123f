import {
  type CallFailure,
  type CallOptions,
  type Hold,
  type LeaseRequest,
  OutboxCallError,
  type OutboxClient,
  type OutboxLease,
  type Release,
} from './client.ts';
import { parseJson } from './json-text.ts';
import { machine } from './machine.ts';
import type { DispatcherWorld } from './world.ts';

/** The part of the standard `fetch` that this client uses. */
export type OutgoingHttp = (
  url: string,
  init: RequestInit & { readonly body: string; readonly signal: AbortSignal },
) => Promise<Response>;

export interface HttpOutboxClientOptions {
  /** Such as `https://svc.example.com`; a path is kept. */
  readonly baseUrl?: string;
  /** The former name of `baseUrl`. */
  readonly address?: string;
  /** Called before every request, so that the caller can replace an expired token. */
  readonly headers?: () => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;
  /** The timeout of a call; a lease call adds its wait. Default 15 s. */
  readonly timeoutMs?: number;
  /** The longest decoded answer that the client reads, in bytes. Default 128 MiB. */
  readonly maxResponseBytes?: number;
  readonly fetch?: OutgoingHttp;
  readonly world?: Pick<DispatcherWorld, 'after'>;
}

const TIMEOUT_MS_DEFAULT = 15_000;
const RESPONSE_BYTES_MAX_DEFAULT = 128 * 1024 * 1024;
const LOST_CODES: ReadonlySet<string> = new Set(['lease_stale', 'lease_not_active', 'not_found']);
const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([401, 408, 425, 429]);
const RETRY_AFTER_MS_MAX = 3_600_000;

/** The outbox of a service over HTTP. */
export class HttpOutboxClient implements OutboxClient {
  readonly #base: string;
  readonly #options: HttpOutboxClientOptions;
  readonly #send: OutgoingHttp;
  readonly #world: Pick<DispatcherWorld, 'after'>;

  constructor(options: HttpOutboxClientOptions) {
    this.#options = options;
    const baseUrl = options.baseUrl ?? options.address;
    if (!baseUrl) throw new RangeError('baseUrl is missing: the address of the service');
    this.#base = baseUrl.replace(/\/$/, '');
    this.#send = options.fetch ?? machine.fetch;
    this.#world = options.world ?? machine;
  }

  async lease(request: LeaseRequest, { signal }: CallOptions): Promise<readonly OutboxLease[]> {
    const { tenantId, ...body } = request;
    const text = await this.#post(tenantId, 'leases', body, signal, body.waitSeconds * 1000);
    return leasesOf(text);
  }

  async renew(hold: Hold, leaseSeconds: number, { signal }: CallOptions): Promise<void> {
    await this.#postEvent(hold, 'renew', { leaseSeconds }, signal);
  }

  async acknowledge(hold: Hold, { signal }: CallOptions): Promise<void> {
    await this.#postEvent(hold, 'ack', {}, signal);
  }

  async release(hold: Hold, release: Release, { signal }: CallOptions): Promise<void> {
    await this.#postEvent(hold, 'nack', release, signal);
  }

  #postEvent({ tenantId, eventId, leaseToken }: Hold, verb: string, body: object, signal: AbortSignal) {
    return this.#post(tenantId, `${encodeURIComponent(eventId)}/${verb}`, { leaseToken, ...body }, signal);
  }

  async #post(
    tenantId: string,
    path: string,
    body: object,
    signal: AbortSignal,
    waitMs = 0,
  ): Promise<string> {
    const late = new AbortController();
    const cancel = this.#world.after((this.#options.timeoutMs ?? TIMEOUT_MS_DEFAULT) + waitMs, () =>
      late.abort(new OutboxCallError('transient', 'the call took too long')),
    );
    try {
      const response = await this.#send(
        `${this.#base}/canonical/tenants/${encodeURIComponent(tenantId)}/outbox/${path}`,
        {
          method: 'POST',
          headers: { ...(await this.#options.headers?.()), 'content-type': 'application/json' },
          body: JSON.stringify(body),
          signal: AbortSignal.any([signal, late.signal]),
          // The headers may hold a credential for this address only.
          redirect: 'manual',
        },
      );
      const text = await boundedText(response, this.#options.maxResponseBytes ?? RESPONSE_BYTES_MAX_DEFAULT);
      if (response.ok) return text;
      throw callError(response, text);
    } catch (error) {
      if (error instanceof OutboxCallError) throw error;
      if (late.signal.aborted) throw late.signal.reason;
      throw new OutboxCallError('transient', 'the call failed', { cause: error });
    } finally {
      cancel();
    }
  }
}

/** The body of an answer. It reads in pieces: a small compressed body can decode to one that fills the memory. */
async function boundedText(response: Response, bytesMax: number): Promise<string> {
  const reader = response.body?.getReader();
  // One buffer: a list would keep an object for each piece, however small the pieces are.
  let bytes = new Uint8Array(0);
  let size = 0;
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) return new TextDecoder().decode(bytes.subarray(0, size));
    if (size + value.length > bytesMax) {
      reader?.cancel().catch(() => {});
      throw new OutboxCallError('transient', `the answer is longer than ${bytesMax} bytes`);
    }
    if (size + value.length > bytes.length) {
      const larger = new Uint8Array(Math.max(size + value.length, 2 * bytes.length));
      larger.set(bytes);
      bytes = larger;
    }
    bytes.set(value, size);
    size += value.length;
  }
}

function leasesOf(text: string): readonly OutboxLease[] {
  const answer = jsonOf(text);
  // A proxy in between may have answered with 200.
  if (!Array.isArray(answer)) throw new OutboxCallError('transient', 'the answer is no list of leases');
  return answer as OutboxLease[];
}

function callError(response: Response, text: string): OutboxCallError {
  const problem = jsonOf(text) as { code?: unknown } | null | undefined;
  const code = typeof problem?.code === 'string' ? problem.code : null;
  const retryAfterMs = retryAfter(response.headers);
  const message = `the outbox answered ${response.status}${code === null ? '' : ` ${code}`}`;
  return new OutboxCallError(failureFor(response.status, code), message, { code, retryAfterMs });
}

function failureFor(status: number, code: string | null): CallFailure {
  if (code !== null && LOST_CODES.has(code)) return 'lost';
  // 401 too: the next call reads new headers, and the token may have just expired.
  return status >= 500 || TRANSIENT_STATUSES.has(status) ? 'transient' : 'refused';
}

/**
 * Seconds or a date. A date is compared with the answer's own `Date`: the local clock may differ from the server's.
 */
function retryAfter(headers: Headers): number | null {
  const text = headers.get('retry-after');
  if (text === null) return null;
  const ms = /^\d{1,9}$/.test(text)
    ? Number(text) * 1000
    : Date.parse(text) - Date.parse(headers.get('date') ?? '');
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), RETRY_AFTER_MS_MAX);
}

function jsonOf(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
