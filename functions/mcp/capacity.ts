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

/** The capacity of the process that requests to the endpoint count against, together with those over REST. */
export interface EndpointCapacity extends SharedCapacity {
  /** The rate class of the endpoint. */
  readonly rateClass: string;
  readonly trustedProxyHops: number;
  /** The class of an operation, which is known once the message is read. Absent: all are usual ones. */
  readonly loadOf?: (entry: OperationEntry) => RequestLoad | null;
}

/** What one request takes of it. */
export class RequestCapacity {
  readonly #shared: EndpointCapacity;
  readonly #request: RawRequest;
  readonly #addressOf: () => string;
  /** What the body took beside the permit of the request. */
  #bodyPermits = 0;
  /** The fields of the answer that tell how much is left. */
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

  /** Takes its place at work. */
  async enter(): Promise<void> {
    // Any tool may call a provider, or wait for a run.
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
