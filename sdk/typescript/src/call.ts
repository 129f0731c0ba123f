import { APIResponseError, SvcError } from './errors.ts';
import { nextQuery } from './link.ts';
import type { PagingSpec } from './operation.ts';
import type { Outcome } from './transport.ts';

/** The status and the headers of an answer. */
export interface AnswerInfo {
  readonly status: number;
  readonly headers: Headers;
  /** The name of the request in the service's log. */
  readonly correlationId: string | null;
}

/** Sends the request of a call. `query` replaces that of the request, for a later page of the same list. */
export type Send = (raw: boolean, query?: string) => Promise<Outcome>;

/** Whether the call is sent when it is made, or when the caller first awaits or iterates it. */
type Start = 'by itself' | 'when used';

/**
 * A call to the service. Awaited, it gives the content of the answer. The client sends it after the caller's synchronous code
 * has run, whether or not the caller awaits it; a paged list is sent when the caller first uses it.
 */
export class Call<T> extends Promise<T> {
  readonly #outcome: Promise<Outcome>;
  readonly #state: SendState;
  readonly #send: Send;

  constructor(send: Send, start: Start = 'by itself') {
    const state: SendState = { isRaw: false, isSent: false };
    const begun = new Promise<void>((resolve) => {
      state.begin = resolve;
    });
    const outcome = begun.then(() => {
      state.isSent = true;
      return send(state.isRaw);
    });
    // A chain of promises, not callbacks: V8 follows it, so the stack of an error names the line of the caller's `await`.
    super((resolve) => resolve(outcome.then(({ data }) => data as T)));
    this.#outcome = outcome;
    this.#state = state;
    this.#send = send;
    if (start === 'by itself') state.begin?.();
  }

  /** Sends a call that waits for its first use. A call is sent once, however often it is awaited. */
  // oxlint-disable-next-line no-thenable -- every promise has one
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#state.begin?.();
    return super.then(onFulfilled, onRejected);
  }

  /** `then` gives a plain promise. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  /** The content of the answer, with its status and headers. */
  async withResponse(): Promise<{ readonly data: T; readonly response: AnswerInfo }> {
    const data = await this;
    const { status, headers } = (await this.#outcome).response;
    return { data, response: { status, headers, correlationId: headers.get('x-correlation-id') } };
  }

  /**
   * The answer as `fetch` gives it, with its body unread; a refusal is thrown. Ask for it where the call is made:
   * `client.health().asResponse()`. The timeout of the call bounds the wait for the next bytes, not the whole body; the
   * signal of the call ends the reading.
   */
  async asResponse(): Promise<Response> {
    if (this.#state.isSent) throw new SvcError('Call asResponse before the call is sent.');
    this.#state.isRaw = true;
    await this;
    return (await this.#outcome).response;
  }

  /**
   * The pages of a list whose answer names the next page in its header `Link`; of any other call, the one answer. The client
   * reads a page when the caller asks for it. An endless list is an error: a page that is named twice, or 1,000 empty pages in
   * a row.
   */
  async *pages(): AsyncGenerator<T, void, undefined> {
    this.#state.begin?.();
    const bounds = new Bounds();
    for (let { response, data } = await this.#outcome; ; ) {
      yield data as T;
      const query = nextQuery(response.headers);
      if (query === null) return;
      bounds.check(query, Array.isArray(data) && data.length === 0);
      ({ response, data } = await this.#send(false, query));
    }
  }

  /** The entries of all pages, for a call that answers a list. */
  async *items<Item>(this: Call<readonly Item[]>): AsyncGenerator<Item, void, undefined> {
    for await (const page of this.pages()) {
      if (!Array.isArray(page)) throw new APIResponseError('A page of the list is not a list.');
      yield* page as readonly Item[];
    }
  }
}

interface SendState {
  begin?: () => void;
  isRaw: boolean;
  isSent: boolean;
}

const emptyPagesMax = 1000;

/** Detects endless lists. */
class Bounds {
  readonly #seen: Set<unknown>;
  #empty = 0;

  constructor(...begin: readonly unknown[]) {
    this.#seen = new Set(begin);
  }

  /** Throws if the list does not end. `next` names the page after one that `isEmpty`. */
  check(next: string, isEmpty: boolean): void {
    if (this.#seen.has(next)) throw new APIResponseError('A continuation token was repeated.');
    this.#seen.add(next);
    this.#empty = isEmpty ? this.#empty + 1 : 0;
    if (this.#empty === emptyPagesMax)
      throw new APIResponseError(`${emptyPagesMax} pages in a row are empty, and more follow.`);
  }
}

/**
 * A call for a paged list. Awaited, it gives the first page; iterated, the entries of all pages. The client sends nothing
 * before that, and reads the first page once.
 */
export class PagedCall<Page, Item> extends Call<Page> implements AsyncIterable<Item> {
  readonly #paging: PagingSpec;
  readonly #begin: unknown;
  readonly #next: (token: string) => PromiseLike<Page>;

  /** `begin` is the caller's continuation token, if any. */
  constructor(send: Send, paging: PagingSpec, begin: unknown, next: (token: string) => PromiseLike<Page>) {
    super(send, 'when used');
    this.#paging = paging;
    this.#begin = begin;
    this.#next = next;
  }

  /**
   * The pages. The client reads a page when the caller asks for it. A short or empty page need not be the last one. An
   * endless list is an error: a token that comes twice, or 1,000 empty pages in a row.
   */
  override async *pages(): AsyncGenerator<Page, void, undefined> {
    const bounds = new Bounds(this.#begin);
    for (let page = this.#checked(await this); ; ) {
      yield page;
      const token = (page as Readonly<Record<string, unknown>>)[this.#paging.responseToken];
      if (typeof token !== 'string' || token === '') return;
      bounds.check(token, this.#itemsOf(page).length === 0);
      page = this.#checked(await this.#next(token));
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const page of this.pages()) {
      yield* this.#itemsOf(page);
    }
  }

  #itemsOf(page: Page): readonly Item[] {
    const items = (page as Readonly<Record<string, readonly Item[] | undefined>>)[this.#paging.items];
    return items === undefined ? [] : items;
  }

  /** The page, if its entries are a list. */
  #checked(page: Page): Page {
    if (typeof page === 'object' && page !== null && Array.isArray(this.#itemsOf(page))) return page;
    throw new APIResponseError('A page of the list is not a list.');
  }

  /**
   * All entries as one list, at most `limit` of them. Without `limit`, more than 10,000 entries are an error: the caller must
   * choose a larger list on purpose.
   */
  async all({ limit }: { readonly limit?: number } = {}): Promise<Item[]> {
    const most = limit ?? 10_000;
    if (!Number.isInteger(most) || most < 1) throw new SvcError('limit must be a whole number from 1.');
    const items: Item[] = [];
    for await (const item of this) {
      if (items.length === most)
        throw new SvcError(`There are more than ${most} entries: set limit, or iterate.`);
      items.push(item);
      if (items.length === limit) break;
    }
    return items;
  }
}
