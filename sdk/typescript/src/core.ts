import { Call, PagedCall } from './call.ts';
import { parseJson } from './json-text.ts';
import { type CallInput, methodOf, type OperationSpec } from './operation.ts';
import { type ClientOptions, environment, type KeyedCallOptions, type Settings, settle } from './options.ts';
import { exchange, prepared } from './transport.ts';

/** The settings of a client, for the other parts of this package. They hold credentials, so no caller can reach them. */
export let settingsOf: (client: ClientCore) => Settings;

let optionsOf: (client: ClientCore) => ClientOptions;

/** The base of every client: its settings. It holds no connection, so nothing needs to be closed. */
export class ClientCore {
  readonly #options: ClientOptions;
  readonly #settings: Settings;

  static {
    settingsOf = (client) => client.#settings;
    optionsOf = (client) => client.#options;
  }

  constructor(options: ClientOptions = {}) {
    const settings = settle(options, environment());
    this.#options = decided(options, settings);
    this.#settings = settings;
  }

  get baseUrl(): string {
    return this.#settings.baseUrl;
  }

  /** Credentials are redacted. */
  toJSON(): object {
    const { baseUrl, timeout, maxRetries, apiKey, token } = this.#settings;
    return { baseUrl, timeout, maxRetries, apiKey: redacted(apiKey), token: redacted(token) };
  }

  /** `console.log` of Node calls this. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return `${this.constructor.name} ${JSON.stringify(this)}`;
  }
}

function redacted(credential: unknown): string | null {
  return credential === null ? null : '[redacted]';
}

/** The options with every default decided: a client that is derived later ignores changes of the environment. */
function decided(options: ClientOptions, settings: Settings): ClientOptions {
  const { ownFetch: _, mayCarry: __, server: ___, ...kept } = settings;
  const { insecure, fetch } = options;
  return { ...kept, fetch, insecure };
}

/** The options of a client, replaced by those of `changes` that are defined. */
export function changedOptions(client: ClientCore, changes: ClientOptions): ClientOptions {
  const defined = Object.entries(changes).filter(([, value]) => value !== undefined);
  return { ...optionsOf(client), ...Object.fromEntries(defined) };
}

/** Makes a call; the generated methods use it. */
export function call<T>(
  client: ClientCore,
  operation: OperationSpec,
  input: CallInput,
  options: KeyedCallOptions,
): Call<T> {
  const settings = settingsOf(client);
  const request = prepared(settings, operation, input, options);
  // Later pages use a copy: the caller may change its options before the last page.
  const own = { ...options };
  return new Call((raw, query) => exchange(settings, operation, request, { ...own, raw, query }));
}

/** As `call`, for an operation that answers a list in pages. */
export function pages<Page, Item>(
  client: ClientCore,
  operation: OperationSpec,
  input: CallInput,
  options: KeyedCallOptions,
): PagedCall<Page, Item> {
  const { paging } = operation;
  if (paging === undefined) throw new TypeError(`${methodOf(operation)} has no pages`);
  const { tokenIn, requestToken } = paging;
  const member = tokenIn === 'body' ? 'request' : 'parameters';
  const settings = settingsOf(client);
  const request = prepared(settings, operation, input, options);
  // Later pages use copies: the caller may change its objects before the last page.
  const first = copied(input);
  const own = { ...options, headers: { ...options.headers } };
  const begin = first[member] as Readonly<Record<string, unknown>> | undefined;
  return new PagedCall<Page, Item>(
    (raw) => exchange(settings, operation, request, { ...own, raw }),
    paging,
    begin?.[requestToken],
    (token) => call(client, operation, { ...first, [member]: { ...begin, [requestToken]: token } }, own),
  );
}

/** A copy by way of JSON: a list operation takes JSON or a query, and nothing else. */
function copied(input: CallInput): CallInput {
  try {
    return parseJson(JSON.stringify(input)) as CallInput;
  } catch {
    // JSON cannot hold the input, so the request of the first page fails and reports it.
    return {};
  }
}
