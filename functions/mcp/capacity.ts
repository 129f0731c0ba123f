import type { BytesInFlight, Flight } from '../http/bytes-in-flight.ts';
import type { Slot } from '../http/class-line.ts';
import type { LargeAnswers } from '../http/large-answers.ts';
import type { RawRequest, RawResponse } from '../http/message.ts';
import type { HeaderField } from '../http/rate-limit.ts';
import type { RateLimits } from '../http/rate-limits.ts';
import type { RequestLine } from '../http/request-line.ts';
import { sourceAddress } from '../http/source-address.ts';
import { weighedRequest } from '../http/weighed.ts';
import type { Caller } from '../identity/caller.ts';
import type { McpCapacity } from './catalog.ts';
import { fieldOf } from './receive.ts';

/** The limits of the process that requests to the endpoint count against, together with those over REST. */
export interface EndpointCapacity {
  readonly limits: RateLimits;
  /** The rate class of the endpoint. */
  readonly rateClass: string;
  readonly bytes: BytesInFlight;
  readonly large: LargeAnswers;
  readonly line: RequestLine;
  readonly trustedProxyHops: number;
}

/** What one request takes of them. */
export class RequestCapacity {
  readonly #shared: EndpointCapacity;
  readonly #request: RawRequest;
  readonly #address: string;
  #flight: Flight | null = null;
  #slot: Slot | null = null;
  #callerName: string;
  /** What the body took beside the permit of the request. */
  #bodyPermits = 0;
  /** The fields of the answer that tell how much is left. */
  readonly fields: HeaderField[] = [];

  constructor(shared: EndpointCapacity, request: RawRequest) {
    this.#shared = shared;
    this.#request = request;
    const forwarded = fieldOf(request.rawHeaders, 'x-forwarded-for');
    this.#address = sourceAddress(request.socketAddress, forwarded, shared.trustedProxyHops);
    this.#callerName = this.#address;
  }

  /** Takes the permit of the request itself, and then its place at work. */
  async admit(arrivedAt: number): Promise<void> {
    const { limits, line, rateClass } = this.#shared;
    const { signal } = this.#request;
    await limits.acquire(rateClass, this.#addressOf, signal, (fields) => {
      this.fields.push(...fields);
    });
    // Any tool may call a provider, or wait for a run.
    const load = { loadClass: 'usual', mayWait: true } as const;
    this.#slot = await line.enter({ ...load, source: this.#address, arrivedAt, signal });
  }

  /** Gives the place at work to another request. */
  leave(): void {
    this.#slot?.leave();
  }

  /** The request, whose body takes further permits while it arrives. */
  weighed(): RawRequest {
    return weighedRequest(this.#request, (permits) => {
      this.#bodyPermits += permits;
      this.#charge(permits);
    });
  }

  /** Begins to count the bytes of the caller. */
  open({ principal }: Caller): void {
    this.#callerName = principal ?? this.#address;
    this.#flight = this.#shared.bytes.open(this.#callerName);
  }

  readonly take = (bytes: number): void => this.#flight?.take(bytes);

  /**
   * From now on the request holds its answer alone. The answer of a call is never refused: what the call did is done, and one
   * that only read has counted its text before.
   */
  holdAnswer(method: string | null, { body }: RawResponse): void {
    if (typeof body !== 'string' && !(body instanceof Uint8Array)) return;
    this.#flight?.release();
    if (method === 'tools/call') this.#flight?.count(body.length);
    else this.take(body.length);
  }

  release(): void {
    this.#flight?.release();
  }

  get ofCall(): McpCapacity {
    const { limits, large } = this.#shared;
    return {
      permit: async (rateClass) => {
        await limits.acquire(rateClass, this.#addressOf, this.#request.signal, () => {});
        limits.charge(rateClass, this.#addressOf, this.#bodyPermits);
      },
      charge: this.#charge,
      chargeTo: (rateClass, permits) => limits.charge(rateClass, this.#addressOf, permits),
      hold: this.take,
      turnOf: (operation) => large.turnOf(this.#callerName, operation),
      spent: large.spent,
    };
  }

  readonly #addressOf = (): string => this.#address;

  readonly #charge = (permits: number): void =>
    this.#shared.limits.charge(this.#shared.rateClass, this.#addressOf, permits);
}
