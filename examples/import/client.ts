/**
 * One tenant of the service over HTTP, for unattended programs: every call is retried until it has a final answer.
 * That is safe for commits because the caller gives each one an idempotency key that its retries repeat.
 */
import { setTimeout as pauseFor } from 'node:timers/promises';

export interface Precondition {
  readonly mustNotExist?: boolean;
  readonly expectedRevision?: number;
}

export interface NewDocument {
  readonly tenantId: string;
  readonly documentType: string;
  readonly id: string;
  readonly schemaVersion: string;
  readonly data: object;
  readonly indexes: Readonly<Record<string, string>>;
}

export type Mutation =
  | { readonly operation: 'upsert'; readonly document: NewDocument; readonly precondition?: Precondition }
  | { readonly operation: 'delete'; readonly documentType: string; readonly id: string };

export interface Transaction {
  readonly idempotencyKey: string;
  readonly mutations: readonly Mutation[];
  readonly fences?: readonly object[];
  readonly outbox?: readonly object[];
}

export interface StoredDocument {
  readonly documentType: string;
  readonly id: string;
  readonly revision: number;
  readonly deleted: boolean;
  /** `null` in a tombstone. */
  readonly data: Readonly<Record<string, unknown>> | null;
  readonly indexes: Readonly<Record<string, string>>;
}

export interface DocumentQuery {
  readonly documentType?: string;
  readonly indexes: Readonly<Record<string, string>>;
  /** The most items of one page; 1,000 at most. */
  readonly limit: number;
}

/** The machine functions that a client uses, passed in so that a test controls them. */
export interface ClientMachine {
  fetch(url: string, init: RequestInit): Promise<Response>;
  pause(delayMs: number, signal: AbortSignal): Promise<void>;
  /** From 0 up to, not including, 1. */
  random(): number;
}

export interface TenantClientOptions {
  /** Such as `https://svc.example.com`. */
  readonly address: string;
  readonly tenantId: string;
  /** Called before every attempt, so that the caller can replace an expired token. */
  readonly headers?: () => Promise<Readonly<Record<string, string>>>;
  /** Ends every call, and every pause between two attempts. */
  readonly signal?: AbortSignal;
  /** The timeout of one attempt. Default 30 s. */
  readonly timeoutMs?: number;
  /** The number of attempts before a call fails. Default 10. */
  readonly attemptsMax?: number;
  readonly machine?: ClientMachine;
}

/** The service refused the call or was not reached; `retryable` if the same request may succeed later. */
export class CallError extends Error {
  /** `null` if no answer came: it is then unknown whether the call took effect. */
  readonly status: number | null;
  /** The code of the problem document, such as `fence_conflict`. */
  readonly code: string | null;
  readonly retryable: boolean;
  readonly retryAfterMs: number | null;

  constructor(
    message: string,
    facts: Pick<CallError, 'status' | 'code' | 'retryable' | 'retryAfterMs'>,
    cause?: unknown,
  ) {
    super(message, { cause });
    this.name = 'CallError';
    this.status = facts.status;
    this.code = facts.code;
    this.retryable = facts.retryable;
    this.retryAfterMs = facts.retryAfterMs;
  }
}

const TIMEOUT_MS_DEFAULT = 30_000;
const ATTEMPTS_MAX_DEFAULT = 10;
const BACKOFF_BASE_MS = 250;
const BACKOFF_CAP_MS = 15_000;
const RETRY_AFTER_MS_MAX = 3_600_000;
/** For answers without a problem document, such as those of a proxy. */
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([408, 425, 429, 502, 503, 504]);

const thisMachine: ClientMachine = {
  fetch: (url, init) => fetch(url, init),
  pause: (delayMs, signal) => pauseFor(delayMs, undefined, { signal }),
  random: () => Math.random(),
};

export class TenantClient {
  readonly tenantId: string;
  readonly #base: string;
  readonly #options: TenantClientOptions;
  readonly #machine: ClientMachine;
  readonly #signal: AbortSignal;

  constructor(options: TenantClientOptions) {
    this.tenantId = options.tenantId;
    this.#base = `${options.address.replace(/\/$/, '')}/canonical/tenants/${encodeURIComponent(options.tenantId)}`;
    this.#options = options;
    this.#machine = options.machine ?? thisMachine;
    this.#signal = options.signal ?? new AbortController().signal;
  }

  /** `replayed`: an earlier call with the same key had already made the commit. */
  async commit(transaction: Transaction): Promise<{ readonly replayed: boolean }> {
    return JSON.parse(await this.#post('/transactions', transaction)) as { replayed: boolean };
  }

  /** The document, its tombstone after a delete, or `null` if it never existed. */
  async read(documentType: string, id: string): Promise<StoredDocument | null> {
    try {
      const answer = await this.#post('/documents/read', { documentType, id, includeDeleted: true });
      return JSON.parse(answer) as StoredDocument;
    } catch (error) {
      if (error instanceof CallError && error.code === 'not_found') return null;
      throw error;
    }
  }

  /** Reads all pages. A page may be short or empty and still not be the last. */
  async *pages(query: DocumentQuery): AsyncGenerator<readonly StoredDocument[], void> {
    let continuationToken: string | null = null;
    do {
      const answer = await this.#post('/documents/query', { ...query, continuationToken });
      const page = JSON.parse(answer) as { items: StoredDocument[]; continuationToken: string | null };
      ({ continuationToken } = page);
      yield page.items;
    } while (continuationToken !== null);
  }

  async #post(path: string, body: object): Promise<string> {
    const attemptsMax = this.#options.attemptsMax ?? ATTEMPTS_MAX_DEFAULT;
    const text = JSON.stringify(body);
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(path, text);
      } catch (error) {
        if (!(error instanceof CallError) || !error.retryable || attempt >= attemptsMax) throw error;
        await this.#machine.pause(waitMs(attempt, error.retryAfterMs, this.#machine.random()), this.#signal);
      }
    }
  }

  async #attempt(path: string, body: string): Promise<string> {
    const late = AbortSignal.timeout(this.#options.timeoutMs ?? TIMEOUT_MS_DEFAULT);
    const headers = { ...(await this.#options.headers?.()), 'content-type': 'application/json' };
    let response: Response;
    let text: string;
    try {
      const signal = AbortSignal.any([this.#signal, late]);
      // The headers may hold a credential for this address only.
      const init: RequestInit = { method: 'POST', headers, body, signal, redirect: 'manual' };
      response = await this.#machine.fetch(`${this.#base}${path}`, init);
      text = await response.text();
    } catch (error) {
      this.#signal.throwIfAborted();
      const facts = { status: null, code: null, retryable: true, retryAfterMs: null };
      throw new CallError(`${path} was not answered`, facts, error);
    }
    if (response.ok) return text;
    throw refusalOf(path, response, text);
  }
}

/** The delay after that many attempts: the full time that the service asked for, plus a growing random time. */
export function waitMs(attempt: number, retryAfterMs: number | null, random: number): number {
  const ceiling = Math.min(BACKOFF_CAP_MS, BACKOFF_BASE_MS * 2 ** Math.min(attempt - 1, 30));
  return Math.round((retryAfterMs ?? 0) + ceiling * (0.5 + random / 2));
}

function refusalOf(path: string, response: Response, text: string): CallError {
  const { code, retryable, detail } = problemOf(text);
  const { status } = response;
  const facts = {
    status,
    code: typeof code === 'string' ? code : null,
    // Prefer the service's statement: a full disk is a 503 that no retry resolves.
    retryable: typeof retryable === 'boolean' ? retryable : RETRYABLE_STATUSES.has(status),
    retryAfterMs: retryAfterOf(response.headers),
  };
  const words = [facts.code, detail].filter((word) => typeof word === 'string');
  return new CallError(`${path} was answered ${[status, ...words].join(' ')}`, facts);
}

function problemOf(text: string): { code?: unknown; retryable?: unknown; detail?: unknown } {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

/**
 * Seconds or a date. A date is compared with the answer's own `Date`: the local clock may differ from the server's.
 */
function retryAfterOf(headers: Headers): number | null {
  const text = headers.get('retry-after');
  if (text === null) return null;
  const ms = /^\d{1,9}$/.test(text)
    ? Number(text) * 1000
    : Date.parse(text) - Date.parse(headers.get('date') ?? '');
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), RETRY_AFTER_MS_MAX);
}
