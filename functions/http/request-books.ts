import type { Flight } from './bytes-in-flight.ts';
import type { RequestLoad, Slot } from './class-line.ts';
import { ByteStream, type RawResponse } from './message.ts';
import type { SharedCapacity } from './shared-capacity.ts';
import { type Charge, chargeRefusal } from './weighed.ts';

/** The capacity of the process that one request uses, over REST and over MCP: this class alone counts it. */
export class RequestBooks {
  readonly #shared: SharedCapacity;
  readonly #addressOf: () => string;
  readonly #signal: AbortSignal;
  #callerName: string | null = null;
  #flight: Flight | null = null;
  #load: RequestLoad | null = null;
  #slot: Slot | null = null;
  /** The rate class that further work of the request is charged to; `null` for none. */
  rateClass: string | null = null;

  /** `addressOf` gives the source address, which is known once the headers are. */
  constructor(shared: SharedCapacity, addressOf: () => string, signal: AbortSignal) {
    this.#shared = shared;
    this.#addressOf = addressOf;
    this.#signal = signal;
  }

  /** Takes further permits for a request whose work has begun. */
  readonly charge: Charge = (permits) => this.#shared.limits.charge(this.rateClass, this.#addressOf, permits);

  /** Charges the cost of a refusal, beside the permit of its request. */
  chargeRefusal(error: unknown): void {
    chargeRefusal(error, this.charge);
  }

  /** Takes a place at work, or waits for one: `undefined` if it is taken at once. Rejects with `overloaded`. */
  enter(load: RequestLoad): Promise<void> | undefined {
    this.#load = load;
    const entered = this.#shared.line.enter({ ...load, source: this.#addressOf(), signal: this.#signal });
    if (entered instanceof Promise)
      return entered.then((slot) => {
        this.#slot = slot;
      });
    this.#slot = entered;
    return undefined;
  }

  /**
   * Continues as work of another class: leaves its place and waits in the line of that class. Rejects as `enter` does.
   */
  async enterAs(load: RequestLoad): Promise<void> {
    this.leave();
    await this.enter(load);
  }

  /** The body has arrived. A request whose body was slow waits for a place again. */
  received(): Promise<void> | undefined {
    if (this.#load === null || this.#slot?.received() !== true) return undefined;
    this.#slot.leave();
    return this.enter(this.#load);
  }

  /** The request only waits from now on: its place is free for another. */
  readonly aside = (): void => this.#slot?.aside();

  /** Whether a usual request of the source would be refused now. */
  readonly crowded = (): boolean => this.#shared.line.isFull('usual', this.#addressOf());

  /** Gives the place at work to another request. */
  leave(): void {
    this.#slot?.leave();
  }

  /** Begins to count the bytes of the caller. */
  open(principal: string | null): void {
    this.#callerName = principal ?? this.#addressOf();
    this.#flight = this.#shared.bytes.open(this.#callerName);
  }

  /** Counts bytes before they are held; throws where too many are under way. */
  readonly take = (bytes: number): void => this.#flight?.take(bytes);

  /** Used by a handler to count the bytes of its answer. */
  holdsOf(operation: string): {
    readonly hold: (bytes: number) => void;
    readonly grow: (bytes: number) => void;
  } {
    const hold = (bytes: number): void => {
      this.take(bytes);
      this.spent(operation, bytes);
    };
    return { hold, grow: this.take };
  }

  /** A promise to wait for before an answer of the operation is read or written: large ones are made one by one. */
  turnOf(operation: string): Promise<void> | null {
    return this.#shared.large.turnOf(this.#callerName ?? this.#addressOf(), operation);
  }

  /** Counts bytes that this turn of the event loop has read or written for an answer of the operation. */
  spent(operation: string, bytes: number): void {
    this.#shared.large.spent(operation, bytes);
  }

  /**
   * From now on the request holds the bytes of its answer alone. The answer may be refused for its size only if the
   * request changed no data: the caller must learn the result of a write. Returns the bytes of the answer.
   */
  holdAnswer({ body, shared }: RawResponse, mayRefuse: boolean): number {
    this.#flight?.release();
    if (shared === true) return 0;
    const bytes = body instanceof ByteStream ? body.heldBytes : (body?.length ?? 0);
    if (mayRefuse) this.take(bytes);
    else this.#flight?.count(bytes);
    return bytes;
  }

  /** The request holds no bytes any more. */
  release(): void {
    this.#flight?.release();
  }
}
