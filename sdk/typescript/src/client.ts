import { Call, PagedCall } from './call.ts';
import { Operations } from './generated/client.ts';
import type { CallInput, OperationSpec } from './operation.ts';
import { type ClientOptions, environment, type KeyedCallOptions, type Settings, settle } from './options.ts';
import { exchange, prepared } from './transport.ts';

/**
 * A client of one service. It holds no connection, so nothing needs to be closed. What it was given as credentials is in
 * nothing that it shows.
 */
export class SvcClient extends Operations {
  readonly #options: ClientOptions;
  readonly #settings: Settings;

  constructor(options: ClientOptions = {}) {
    const settings = settle(options, environment());
    super(callerOf(settings));
    this.#options = options;
    this.#settings = settings;
  }

  get baseUrl(): string {
    return this.#settings.baseUrl;
  }

  /** Another client, with these options before those of this one. */
  withOptions(options: ClientOptions): SvcClient {
    return new SvcClient({ ...this.#options, ...options });
  }

  toJSON(): object {
    const { baseUrl, timeout, maxRetries, apiKey, token } = this.#settings;
    return { baseUrl, timeout, maxRetries, apiKey: shown(apiKey), token: shown(token) };
  }

  /** What Node prints. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return `SvcClient ${JSON.stringify(this)}`;
  }
}

function shown(credential: unknown): string | null {
  return credential === null ? null : '[redacted]';
}

/** How the generated methods make calls. */
export interface Caller {
  call<T>(operation: OperationSpec, input: CallInput, options?: KeyedCallOptions): Call<T>;
  pages<Page, Item>(
    operation: OperationSpec,
    input: CallInput,
    options?: KeyedCallOptions,
  ): PagedCall<Page, Item>;
}

function callerOf(settings: Settings): Caller {
  const caller: Caller = {
    call(operation, input, options = {}) {
      const request = prepared(settings, operation, input, options);
      return new Call((raw) => exchange(settings, operation, request, { ...options, raw }));
    },
    pages<Page, Item>(operation: OperationSpec, input: CallInput, options: KeyedCallOptions = {}) {
      const { paging } = operation;
      if (paging === undefined) throw new TypeError(`${operation.id} has no pages`);
      const { tokenIn, requestToken } = paging;
      const member = tokenIn === 'body' ? 'request' : 'parameters';
      const request = prepared(settings, operation, input, options);
      // As it was when the list was asked for.
      const first: Readonly<Record<string, unknown>> = { ...(input[member] as object | undefined) };
      return new PagedCall<Page, Item>(
        (raw) => exchange(settings, operation, request, { ...options, raw }),
        paging,
        first[requestToken],
        (token) =>
          caller.call<Page>(operation, { ...input, [member]: { ...first, [requestToken]: token } }, options),
      );
    },
  };
  return caller;
}
