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

/**
 * A call on its way. Awaited, it gives what the answer's body holds. It is sent whether or not anybody awaits it, after the
 * code that made it has run to its next pause.
 */
export class Call<T> extends Promise<T> {
  readonly #outcome: Promise<Outcome>;
  readonly #state: SendState;

  constructor(send: (raw: boolean) => Promise<Outcome>) {
    const state: SendState = { isRaw: false, isSent: false };
    const outcome = Promise.resolve().then(() => {
      state.isSent = true;
      return send(state.isRaw);
    });
    super((resolve, reject) => {
      outcome.then(({ data }) => resolve(data as T), reject);
    });
    this.#outcome = outcome;
    this.#state = state;
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
   * is made: `client.health().asResponse()`. The call's time does not bind whoever reads the body; its signal does.
   */
  async asResponse(): Promise<Response> {
    if (this.#state.isSent) throw new SvcError('asResponse must be asked for where the call is made.');
    this.#state.isRaw = true;
    await this;
    return (await this.#outcome).response;
  }
}

interface SendState {
  isRaw: boolean;
  isSent: boolean;
}

/** A call for a list in pages. Awaited, it gives the first page; iterated, the entries of all pages. */
export class PagedCall<Page, Item> extends Call<Page> implements AsyncIterable<Item> {
  readonly #paging: PagingSpec;
  readonly #next: (token: string) => PromiseLike<Page>;

  constructor(
    send: (raw: boolean) => Promise<Outcome>,
    paging: PagingSpec,
    next: (token: string) => PromiseLike<Page>,
  ) {
    super(send);
    this.#paging = paging;
    this.#next = next;
  }

  /** The pages, each asked for when the one before was used. A page may be short or empty and not be the last. */
  async *pages(): AsyncGenerator<Page, void, undefined> {
    let before: string | null = null;
    for (let page: Page = await this; ; ) {
      yield page;
      const token = (page as Readonly<Record<string, unknown>>)[this.#paging.responseToken];
      if (typeof token !== 'string' || token === '') return;
      // The same page over and over would never end.
      if (token === before)
        throw new APIResponseError('Two pages in a row have the same continuation token.');
      before = token;
      page = await this.#next(token);
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const page of this.pages()) {
      yield* (page as Readonly<Record<string, readonly Item[]>>)[this.#paging.items] ?? [];
    }
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
