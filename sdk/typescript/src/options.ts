import { addressOf } from './address.ts';
import { isCredentialHeader } from './credentials.ts';
import { SvcError } from './errors.ts';
import { RETRY } from './retry.ts';
import { machine, type World } from './world.ts';

/** A credential, or what gives one: it is asked before each request, so that it may hand out fresh ones. */
export type Credential = string | (() => string | Promise<string>);

export type FetchLike = (url: string, init: RequestInit) => Promise<Response>;

export interface ClientOptions {
  /** Address of the service, of host, port and path; a path is kept. `SVC_BASE_URL` or `SVC_SERVER` where it is not given. */
  readonly baseUrl?: string | undefined;
  /** `SVC_API_KEY` where it is not given; `null` for none. */
  readonly apiKey?: Credential | null | undefined;
  /** The header that the service reads the key from: `SVC_API_KEY_HEADER`, else `X-Svc-Api-Key`. */
  readonly apiKeyHeader?: string | undefined;
  /** An identity token (OIDC). `SVC_IDENTITY_TOKEN` where it is not given; `null` for none. */
  readonly token?: Credential | null | undefined;
  /** Sent with every request; `null` takes one of the client's own away. */
  readonly headers?: HeaderValues | undefined;
  /** Milliseconds that a call may take, repeats and the pauses between them included; 60,000 where it is not given. */
  readonly timeout?: number | undefined;
  /** How often a call that failed is sent again, where that is safe; 2 where it is not given. */
  readonly maxRetries?: number | undefined;
  /** Instead of the platform's `fetch`. It must not follow redirects. */
  readonly fetch?: FetchLike | undefined;
  /** Lets credentials go over plain HTTP to other machines, where they can be read on the way. */
  readonly insecure?: boolean | undefined;
  /** Instead of the machine's clock and chance. For tests. */
  readonly world?: World | undefined;
}

export type HeaderValues = Readonly<Record<string, string | null | undefined>>;

/** What can be said of one call; it goes before what the client was made with. */
export interface CallOptions {
  /** Ends the call, a pause between repeats included. */
  readonly signal?: AbortSignal | undefined;
  /** In milliseconds. */
  readonly timeout?: number | undefined;
  readonly headers?: HeaderValues | undefined;
  /** Names the request in the service's log and answer: 1 to 128 letters, digits and `._:-`. */
  readonly correlationId?: string | undefined;
  readonly maxRetries?: number | undefined;
}

/** Of an operation that takes its idempotency key in a header. */
export interface KeyedCallOptions extends CallOptions {
  /** A name for this one intent. Repeated with the same request, it is done once; only with it the client repeats by itself. */
  readonly idempotencyKey?: string | undefined;
}

/** The options with everything that was left open decided, and judged. */
export interface Settings {
  readonly baseUrl: string;
  readonly apiKey: Credential | null;
  readonly apiKeyHeader: string;
  readonly token: Credential | null;
  readonly headers: HeaderValues;
  readonly timeout: number;
  readonly maxRetries: number;
  readonly fetch: FetchLike;
  /** Whether `fetch` was given, and so is not that of the platform. */
  readonly ownFetch: boolean;
  readonly world: World;
  /** Whether a credential may go where the address leads. */
  readonly mayCarry: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The variables of the process where there is one; a browser has none. */
export function environment(): Environment {
  return (globalThis as { process?: { env?: Environment } }).process?.env ?? {};
}

export function settle(options: ClientOptions, env: Environment): Settings {
  const apiKey = given(options.apiKey, env['SVC_API_KEY']);
  const token = given(options.token, env['SVC_IDENTITY_TOKEN']);
  const { baseUrl, isReadable } = addressOf(options.baseUrl ?? (env['SVC_BASE_URL'] || env['SVC_SERVER']));
  const { timeout = 60_000, maxRetries = RETRY.maxRetries } = options;
  const apiKeyHeader = options.apiKeyHeader ?? (env['SVC_API_KEY_HEADER'] || 'X-Svc-Api-Key');
  if (!headerName.test(apiKeyHeader)) throw new SvcError('apiKeyHeader is no name of a header.');
  const headers = { ...options.headers };
  const mayCarry = options.insecure === true || !isReadable;
  if (!mayCarry && (apiKey !== null || token !== null || carries(headers, apiKeyHeader)))
    throw new SvcError(`${new URL(baseUrl).origin} ${READABLE}`);
  const { fetch = (target: string, init: RequestInit) => globalThis.fetch(target, init) } = options;
  return {
    baseUrl,
    apiKey,
    apiKeyHeader,
    token,
    headers,
    timeout: checkTimeout(timeout),
    maxRetries: checkRetries(maxRetries),
    fetch,
    ownFetch: options.fetch !== undefined,
    world: options.world ?? machine,
    mayCarry,
  };
}

/** A token of RFC 9110 section 5.6.2. */
const headerName = /^[!#$%&'*+.^_`|~\w-]+$/;

const READABLE =
  'is plain HTTP to another machine: a credential sent there can be read on the way. Use https, or the option insecure where the way is safe.';

function carries(headers: HeaderValues, apiKeyHeader: string): boolean {
  return Object.entries(headers).some(
    ([name, value]) => value !== null && value !== undefined && isCredentialHeader(name, apiKeyHeader),
  );
}

/** Refuses a call whose own headers hold a credential that may not go where the address leads. */
export function checkCarried({ mayCarry, apiKeyHeader, baseUrl }: Settings, headers: HeaderValues): void {
  if (!mayCarry && carries(headers, apiKeyHeader))
    throw new SvcError(`${new URL(baseUrl).origin} ${READABLE}`);
}

function given(option: Credential | null | undefined, variable: string | undefined): Credential | null {
  return option === undefined ? variable || null : option;
}

// The longest time that a timer takes.
const timeoutMax = 2 ** 31 - 1;

export function checkTimeout(timeout: number): number {
  if (timeout > 0 && timeout <= timeoutMax) return timeout;
  throw new SvcError(`timeout is above 0 and at most ${timeoutMax}, in milliseconds.`);
}

export function checkRetries(maxRetries: number): number {
  if (Number.isInteger(maxRetries) && maxRetries >= 0) return maxRetries;
  throw new SvcError('maxRetries is a whole number from 0.');
}
