import { Call, PagedCall } from './call.ts';
import { Operations } from './generated/client.ts';
import type { ExecutionRun } from './generated/models.ts';
import type { CallInput, OperationSpec } from './operation.ts';
import { type ClientOptions, environment, type KeyedCallOptions, type Settings, settle } from './options.ts';
import { exchange, prepared } from './transport.ts';
import { type RunWaitOptions, waitForRun } from './wait-run.ts';

/** What a client was made with, for the other parts of this package: whoever has the client has not its credentials. */
export let settingsOf: (client: SvcClient) => Settings;

/**
 * A client of one service. It holds no connection, so nothing needs to be closed. What it was given as credentials is in
 * nothing that it shows.
 */
export class SvcClient extends Operations {
  readonly #options: ClientOptions;
  readonly #settings: Settings;

  static {
    settingsOf = (client) => client.#settings;
  }

  constructor(options: ClientOptions = {}) {
    const settings = settle(options, environment());
    super(callerOf(settings));
    this.#options = kept(options, settings);
    this.#settings = settings;
  }

  get baseUrl(): string {
    return this.#settings.baseUrl;
  }

  /** Another client, with these options before those of this one, as they were when it was made. */
  withOptions(options: ClientOptions): SvcClient {
    return new SvcClient({ ...this.#options, ...said(options) });
  }

  /**
   * The run once it has ended, however it ended: look at its `status`. Each read waits at the service, so the end is told as
   * it comes. Throws `APITimeoutError` where `waitTimeout` passes first; the run goes on then.
   */
  waitForExecutionRun(runId: string, options: RunWaitOptions = {}): Promise<ExecutionRun> {
    const { world, timeout } = this.#settings;
    return waitForRun({ client: this, world, timeout }, runId, options);
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

/**
 * The options with what was decided of them, so that whoever is made of these is not told otherwise by an environment that
 * has changed.
 */
function kept(options: ClientOptions, settings: Settings): ClientOptions {
  const { baseUrl, apiKey, apiKeyHeader, token, headers, timeout, maxRetries, world } = settings;
  const { insecure, fetch } = options;
  return { baseUrl, apiKey, apiKeyHeader, token, headers, timeout, maxRetries, fetch, world, insecure };
}

/** Those that are said: one that is not is no change. */
function said(options: ClientOptions): ClientOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
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
      // As they were when the list was made, whatever becomes of the caller's objects before its last page.
      const first = asItIs(input);
      const its = { ...options, headers: { ...options.headers } };
      const begin = first[member] as Readonly<Record<string, unknown>> | undefined;
      return new PagedCall<Page, Item>(
        (raw) => exchange(settings, operation, request, { ...its, raw }),
        paging,
        begin?.[requestToken],
        (token) =>
          caller.call<Page>(operation, { ...first, [member]: { ...begin, [requestToken]: token } }, its),
      );
    },
  };
  return caller;
}

/** What was given, as JSON says it: a list is asked for in JSON, or in a query. */
function asItIs(input: CallInput): CallInput {
  try {
    return JSON.parse(JSON.stringify(input)) as CallInput;
  } catch {
    // No request can carry it, which the first page tells.
    return {};
  }
}
