import { addressOf } from './address.ts';
import { RESPONSE_BYTES_MAX } from './bounded.ts';
import { isCredentialHeader } from './credential-headers.ts';
import { SvcError } from './errors.ts';
import { MAX_RETRIES } from './retry.ts';
import { machine, type World } from './world.ts';

/** A credential, or a function that returns one. The client calls it before each request, so it can return fresh ones. */
export type Credential = string | (() => string | Promise<string>);

export type FetchLike = (url: string, init: RequestInit) => Promise<Response>;

export interface ClientOptions {
  /** Address of the service: host, port and path. `SVC_BASE_URL` or `SVC_SERVER` if absent. */
  readonly baseUrl?: string | undefined;
  /** `SVC_API_KEY` if absent; `null` for none. */
  readonly apiKey?: Credential | null | undefined;
  /** The header that carries the key. `SVC_API_KEY_HEADER`, else `X-Svc-Api-Key`, if absent. */
  readonly apiKeyHeader?: string | undefined;
  /** An identity token (OIDC). `SVC_IDENTITY_TOKEN` if absent; `null` for none. */
  readonly token?: Credential | null | undefined;
  /** Sent with every request; `null` removes a header that the client sends. */
  readonly headers?: HeaderValues | undefined;
  /** Time for a call in milliseconds, retries and pauses included; 60,000 if absent. */
  readonly timeout?: number | undefined;
  /**
   * How often the client retries a failed call where that is safe; 2 if absent. All clients of a process share a retry budget for
   * each server: while it is spent, the client throws the failure without a retry.
   */
  readonly maxRetries?: number | undefined;
  /**
   * The longest decoded body that the client holds in memory, in bytes; 134,217,728 (128 MiB) if absent. A longer one is an
   * `APIResponseError`. The client does not limit bodies that it hands over as streams.
   */
  readonly maxResponseBytes?: number | undefined;
  /** Replaces the platform's `fetch`. It must not follow redirects. */
  readonly fetch?: FetchLike | undefined;
  /** Allows credentials over plain HTTP to other machines, where others can read them. */
  readonly insecure?: boolean | undefined;
  /** Replaces the clock, the random numbers and the retry budgets. For tests. */
  readonly world?: World | undefined;
}

export type HeaderValues = Readonly<Record<string, string | null | undefined>>;

/** The options of one call, which override those of the client. */
export interface CallOptions {
  /** Ends the call, also during a pause between retries. */
  readonly signal?: AbortSignal | undefined;
  /** In milliseconds, retries and pauses included. */
  readonly timeout?: number | undefined;
  readonly headers?: HeaderValues | undefined;
  /** The id of the request in the log and the answer of the service: 1 to 128 letters, digits and `._:-`. */
  readonly correlationId?: string | undefined;
  readonly maxRetries?: number | undefined;
  readonly maxResponseBytes?: number | undefined;
}

/** The options of an operation that takes its idempotency key in a header. */
export interface KeyedCallOptions extends CallOptions {
  /** The caller's name for one intent: the service carries out the same request with it once. Without a key the client never retries. */
  readonly idempotencyKey?: string | undefined;
}

/** The checked options with all defaults filled in. */
export interface Settings {
  readonly baseUrl: string;
  /** The origin of the address. It names the retry budget. */
  readonly server: string;
  readonly apiKey: Credential | null;
  readonly apiKeyHeader: string;
  readonly token: Credential | null;
  readonly headers: HeaderValues;
  readonly timeout: number;
  readonly maxRetries: number;
  readonly maxResponseBytes: number;
  readonly fetch: FetchLike;
  /** Whether the caller gave `fetch`. */
  readonly ownFetch: boolean;
  readonly world: World;
  /** Whether the client may send credentials to this address. */
  readonly mayCarry: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The environment variables; none in a browser. */
export function environment(): Environment {
  return (globalThis as { process?: { env?: Environment } }).process?.env ?? {};
}

export function settle(options: ClientOptions, env: Environment): Settings {
  const apiKey = given(options.apiKey, env['SVC_API_KEY']);
  const token = given(options.token, env['SVC_IDENTITY_TOKEN']);
  const { baseUrl, isReadable } = addressOf(options.baseUrl ?? (env['SVC_BASE_URL'] || env['SVC_SERVER']));
  const server = new URL(baseUrl).origin;
  const { timeout = 60_000, maxRetries = MAX_RETRIES } = options;
  const apiKeyHeader = options.apiKeyHeader ?? (env['SVC_API_KEY_HEADER'] || 'X-Svc-Api-Key');
  if (!headerName.test(apiKeyHeader)) throw new SvcError('apiKeyHeader is no valid header name.');
  const headers = { ...options.headers };
  const mayCarry = options.insecure === true || !isReadable;
  if (!mayCarry && (apiKey !== null || token !== null || carries(headers, apiKeyHeader)))
    throw new SvcError(`${server} ${READABLE}`);
  const { fetch = (target: string, init: RequestInit) => globalThis.fetch(target, init) } = options;
  return {
    baseUrl,
    server,
    apiKey,
    apiKeyHeader,
    token,
    headers,
    timeout: checkTimeout(timeout),
    maxRetries: checkRetries(maxRetries),
    maxResponseBytes: checkResponseBytes(options.maxResponseBytes ?? RESPONSE_BYTES_MAX),
    fetch,
    ownFetch: options.fetch !== undefined,
    world: options.world ?? machine,
    mayCarry,
  };
}

/** A token of RFC 9110 section 5.6.2. */
const headerName = /^[!#$%&'*+.^_`|~\w-]+$/;

const READABLE =
  'is plain HTTP to another machine: others could read a credential on its way. Use https, or the option insecure in a trusted network.';

function carries(headers: HeaderValues, apiKeyHeader: string): boolean {
  return Object.entries(headers).some(
    ([name, value]) => value !== null && value !== undefined && isCredentialHeader(name, apiKeyHeader),
  );
}

/** Refuses credentials in the headers of a call if the address is not safe for them. */
export function checkCarried({ mayCarry, apiKeyHeader, server }: Settings, headers: HeaderValues): void {
  if (!mayCarry && carries(headers, apiKeyHeader)) throw new SvcError(`${server} ${READABLE}`);
}

function given(option: Credential | null | undefined, variable: string | undefined): Credential | null {
  return option === undefined ? variable || null : option;
}

// The longest delay of a platform timer.
const timeoutMax = 2 ** 31 - 1;

export function checkTimeout(timeout: number): number {
  if (timeout > 0 && timeout <= timeoutMax) return timeout;
  throw new SvcError(`timeout must be above 0 and at most ${timeoutMax} milliseconds.`);
}

export function checkRetries(maxRetries: number): number {
  if (Number.isInteger(maxRetries) && maxRetries >= 0) return maxRetries;
  throw new SvcError('maxRetries must be a whole number from 0.');
}

export function checkResponseBytes(maxResponseBytes: number): number {
  if (Number.isInteger(maxResponseBytes) && maxResponseBytes > 0) return maxResponseBytes;
  throw new SvcError('maxResponseBytes must be a whole number from 1.');
}
