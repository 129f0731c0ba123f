import type { OperationEntry } from '../../contracts/operation.ts';
import type { RequestLoad } from '../http/class-line.ts';
import type { RawRequest } from '../http/message.ts';
import type { HeaderField } from '../http/rate-limit.ts';
import { RequestBooks } from '../http/request-books.ts';
import type { SharedCapacity } from '../http/shared-capacity.ts';
import { sourceAddress } from '../http/source-address.ts';
import { weighedRequest } from '../http/weighed.ts';
import type { McpCapacity } from './catalog.ts';
import { fieldOf } from './receive.ts';

/** The limits of the process that requests to the endpoint share with requests over REST. */
export interface EndpointCapacity extends SharedCapacity {
  /** The rate class of the endpoint. */
  readonly rateClass: string;
  readonly trustedProxyHops: number;
  /** The load class of an operation, which the endpoint knows after it has read the message. Absent: all operations are `usual`. */
  readonly loadOf?: (entry: OperationEntry) => RequestLoad | null;
}

/** The part of the capacity that one request takes. */
export class RequestCapacity {
  readonly #shared: EndpointCapacity;
  readonly #request: RawRequest;
  readonly #addressOf: () => string;
  /** Permits for the body, beside the permit of the request. */
  #bodyPermits = 0;
  /** The rate limit fields of the answer. */
  readonly fields: HeaderField[] = [];
  readonly books: RequestBooks;

  constructor(shared: EndpointCapacity, request: RawRequest) {
    this.#shared = shared;
    this.#request = request;
    const forwarded = fieldOf(request.rawHeaders, 'x-forwarded-for');
    const address = sourceAddress(request.socketAddress, forwarded, shared.trustedProxyHops);
    this.#addressOf = () => address;
    this.books = new RequestBooks(shared, this.#addressOf, request.signal);
    this.books.rateClass = shared.rateClass;
  }

  /** Takes the permit of the request itself. */
  admit(): Promise<void> {
    return this.#acquire(this.#shared.rateClass, (fields) => this.fields.push(...fields));
  }

  /** Takes a place among the requests in progress, or waits for one. */
  async enter(): Promise<void> {
    // Before the message is read, the request counts as one that may wait: any tool may call a provider or wait for a run.
    await this.books.enter({ loadClass: 'usual', mayWait: true });
  }

  /** The request, whose body takes further permits while it arrives. */
  weighed(): RawRequest {
    return weighedRequest(this.#request, (permits) => {
      this.#bodyPermits += permits;
      this.books.charge(permits);
    });
  }

  get ofCall(): McpCapacity {
    const { limits, loadOf } = this.#shared;
    return {
      books: this.books,
      permit: async (rateClass) => {
        await this.#acquire(rateClass, () => {});
        limits.charge(rateClass, this.#addressOf, this.#bodyPermits);
      },
      enterAs: async (entry) => {
        const load = loadOf?.(entry) ?? null;
        if (load?.loadClass === 'bulk') await this.books.enterAs(load);
      },
      chargeTo: (rateClass, permits) => limits.charge(rateClass, this.#addressOf, permits),
    };
  }

  #acquire(rateClass: string | null, report: (fields: readonly HeaderField[]) => void): Promise<void> {
    return this.#shared.limits.acquire(rateClass, this.#addressOf, this.#request.signal, report);
  }
}
