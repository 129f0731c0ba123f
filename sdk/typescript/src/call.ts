import { APIResponseError, SvcError } from './errors.ts';
import type { PagingSpec } from './operation.ts';
import type { Outcome } from './transport.ts';

/** An answer beside what its body holds. */
export interface AnswerInfo {
  readonly status: number;
  readonly headers: Headers;
  /** The name of the request in the service's log. */
  readonly correlationId: string | null;
}

/** Whether a call is sent by itself, or once somebody asks what came of it. */
type Start = 'by itself' | 'when used';

/**
 * A call on its way. Awaited, it gives what the answer's body holds. It is sent whether or not anybody awaits it, after the
 * code that made it has run to its next pause; a list in pages waits until it is used.
 */
export class Call<T> extends Promise<T> {
  readonly #outcome: Promise<Outcome>;
  readonly #state: SendState;

  constructor(send: (raw: boolean) => Promise<Outcome>, start: Start = 'by itself') {
    const state: SendState = { isRaw: false, isSent: false };
    const begun = new Promise<void>((resolve) => {
      state.begin = resolve;
    });
    const outcome = begun.then(() => {
      state.isSent = true;
      return send(state.isRaw);
    });
    super((resolve, reject) => {
      outcome.then(({ data }) => resolve(data as T), reject);
    });
    this.#outcome = outcome;
    this.#state = state;
    if (start === 'by itself') state.begin?.();
  }

  /** However often it is asked for what came of it, a call is sent once. */
  // oxlint-disable-next-line no-thenable -- every promise has one
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#state.begin?.();
    return super.then(onFulfilled, onRejected);
  }

  /** What follows from a call is no call. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  /** What the body holds, and the status and headers that it came with. */
  async withResponse(): Promise<{ readonly data: T; readonly response: AnswerInfo }> {
    const data = await this;
    const { status, headers } = (await this.#outcome).response;
    return { data, response: { status, headers, correlationId: headers.get('x-correlation-id') } };
  }

  /**
   * The answer as `fetch` gives it, with its body unread; refusals are thrown all the same. To be asked for where the call
   * is made: `client.health().asResponse()`. Who reads the body waits for its next bytes for the time of the call at most,
   * however long the whole of it takes; the signal of the call ends it.
   */
  async asResponse(): Promise<Response> {
    if (this.#state.isSent) throw new SvcError('asResponse must be asked for where the call is made.');
    this.#state.isRaw = true;
    await this;
    return (await this.#outcome).response;
  }
}

interface SendState {
  begin?: () => void;
  isRaw: boolean;
  isSent: boolean;
}

const emptyPagesMax = 1000;

/**
 * A call for a list in pages. Awaited, it gives the first page; iterated, the entries of all pages. Nothing is asked for
 * before that, and the first page once.
 */
export class PagedCall<Page, Item> extends Call<Page> implements AsyncIterable<Item> {
  readonly #paging: PagingSpec;
  readonly #begin: unknown;
  readonly #next: (token: string) => PromiseLike<Page>;

  /** `begin` is the token that the caller gave, if any. */
  constructor(
    send: (raw: boolean) => Promise<Outcome>,
    paging: PagingSpec,
    begin: unknown,
    next: (token: string) => PromiseLike<Page>,
  ) {
    super(send, 'when used');
    this.#paging = paging;
    this.#begin = begin;
    this.#next = next;
  }

  /**
   * The pages, each asked for when the one before was used. A page may be short or empty and not be the last. A list that
   * would not end is an error: one that names a token again, or 1,000 empty pages in a row with more to come.
   */
  async *pages(): AsyncGenerator<Page, void, undefined> {
    const seen = new Set([this.#begin]);
    let empty = 0;
    for (let page = this.#checked(await this); ; ) {
      yield page;
      const token = (page as Readonly<Record<string, unknown>>)[this.#paging.responseToken];
      if (typeof token !== 'string' || token === '') return;
      if (seen.has(token)) throw new APIResponseError('A continuation token came a second time.');
      seen.add(token);
      empty = this.#itemsOf(page).length === 0 ? empty + 1 : 0;
      if (empty === emptyPagesMax)
        throw new APIResponseError(`${emptyPagesMax} pages in a row are empty, and there is one more.`);
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

  /** A page that holds entries, or none. */
  #checked(page: Page): Page {
    if (typeof page === 'object' && page !== null && Array.isArray(this.#itemsOf(page))) return page;
    throw new APIResponseError('A page of a list is none.');
  }

  /**
   * All entries as one list. `limit` ends it early: at most so many. Without it more than 10,000 entries are an error, so
   * that no list grows without anybody having meant it.
   */
  async all({ limit }: { readonly limit?: number } = {}): Promise<Item[]> {
    const most = limit ?? 10_000;
    if (!Number.isInteger(most) || most < 1) throw new SvcError('limit is a whole number from 1.');
    const items: Item[] = [];
    for await (const item of this) {
      if (items.length === most)
        throw new SvcError(`There are more than ${most} entries: give a limit, or iterate.`);
      items.push(item);
      if (items.length === limit) break;
    }
    return items;
  }
}
