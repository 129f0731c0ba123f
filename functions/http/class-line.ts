import type { ServiceError } from '../kernel/errors.ts';

/** The priority of a request when the service is overloaded. */
export type LoadClass = 'lease' | 'usual' | 'bulk';

export interface RequestLoad {
  readonly loadClass: LoadClass;
  /** The request may take long for other reasons than the work of this process: it waits for an event, or for a provider. */
  readonly mayWait: boolean;
}

/** The place of one request at work. */
export interface Slot {
  /** The body has arrived. Returns whether the request has lost its place during the wait, and must enter again. */
  readonly received: () => boolean;
  /** The request only waits from now on: its place is free for another. */
  readonly aside: () => void;
  readonly leave: () => void;
}

export interface LineRequest extends RequestLoad {
  /** The source address, as the rate limit counts it. */
  readonly source: string;
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
}

export interface Waiting extends LineRequest {
  readonly start: (slot: Slot) => void;
  readonly refuse: (error: ServiceError) => void;
  /** Since when it has waited, in milliseconds since 1970. */
  readonly since: number;
}

export const loadClasses = ['lease', 'usual', 'bulk'] as const satisfies readonly LoadClass[];

interface ClassRules {
  /** The number of starts that it leaves to other classes while all wait, so that none starves. */
  readonly weight: number;
  /** How long a request waits in a line that stands. */
  readonly ageMs: number;
}

export const classRules: Readonly<Record<LoadClass, ClassRules>> = {
  lease: { weight: 8, ageMs: 1_000 },
  usual: { weight: 4, ageMs: 500 },
  bulk: { weight: 1, ageMs: 250 },
};

/** A line that becomes empty within this time is a burst, and its requests may wait for longer. */
const STANDING_MS = 2_000;
const BURST_FACTOR = 3;
/** This many requests may always wait: a few starts do not show how long the others will take. */
const ALWAYS = 32;
/** How many requests may start before one that waits. */
const BEFORE_MAX = 2_048;
/** A class that had to wait for long may not take all starts afterwards. */
const CREDIT_MAX = 26;

/** The waiting requests of one class. Source addresses take turns. */
export class ClassLine {
  readonly weight: number;
  readonly #ageMs: number;
  readonly #sources = new Map<string, Waiting[]>();
  #count = 0;
  /** Since when requests have waited without a break, in milliseconds since 1970. */
  #since = 0;
  /** The starts that it has left to other classes, in parts of one start. */
  #credit = 0;

  constructor({ weight, ageMs }: ClassRules) {
    this.weight = weight;
    this.#ageMs = ageMs;
  }

  /** The line with the highest rank, of those with requests, is next. */
  get rank(): number {
    return this.#credit + this.weight;
  }

  /** Another line starts a request, or this one, which then pays the weights of all. */
  passTurn(paid: number): void {
    this.#credit = Math.min(this.#credit + this.weight, CREDIT_MAX) - paid;
  }

  get count(): number {
    return this.#count;
  }

  get mayRefuse(): boolean {
    return this.#count >= ALWAYS;
  }

  add(waiting: Waiting, now: number): void {
    if (this.#count === 0) this.#since = now;
    this.#count += 1;
    const ofSource = this.#sources.get(waiting.source);
    if (ofSource === undefined) this.#sources.set(waiting.source, [waiting]);
    else ofSource.push(waiting);
  }

  /**
   * Whether one more request of the source would wait too long, at the given rate of starts of the class, if it is
   * known.
   */
  isTooLong(source: string, startsPerMs: number | null, now: number): boolean {
    if (!this.mayRefuse) return false;
    const own = this.#sources.get(source)?.length ?? 0;
    const sources = this.#sources.size + (own === 0 ? 1 : 0);
    // Sources take turns, so a source with few requests does not wait for all those of another.
    const before = Math.min(this.#count, (own + 1) * sources - 1);
    if (before >= BEFORE_MAX) return true;
    return startsPerMs !== null && before > this.#mostMs(now) * startsPerMs;
  }

  /**
   * Returns the first waiting request that has a place, and puts its source behind the other sources. Hands requests that have waited
   * too long to `refuse`.
   */
  take(
    hasPlace: (waiting: Waiting) => boolean,
    now: number,
    refuse: (old: Waiting) => void,
  ): Waiting | undefined {
    for (const [source, requests] of this.#sources) {
      this.#dropOld(requests, now, refuse);
      const [first] = requests;
      if (first !== undefined && !hasPlace(first)) continue;
      const found = requests.shift();
      this.#sources.delete(source);
      if (found === undefined) continue;
      // Behind all other sources.
      if (requests.length > 0) this.#sources.set(source, requests);
      this.#leave();
      return found;
    }
    return undefined;
  }

  sweep(now: number, refuse: (old: Waiting) => void): void {
    for (const [source, requests] of this.#sources) {
      this.#dropOld(requests, now, refuse);
      if (requests.length === 0) this.#sources.delete(source);
    }
  }

  /** Removes a request whose client has gone. */
  remove(waiting: Waiting): void {
    const requests = this.#sources.get(waiting.source) ?? [];
    const at = requests.indexOf(waiting);
    if (at < 0) return;
    requests.splice(at, 1);
    if (requests.length === 0) this.#sources.delete(waiting.source);
    this.#leave();
  }

  #leave(): void {
    this.#count -= 1;
    if (this.#count === 0) this.#credit = 0;
  }

  /** From the front of the requests of one source, which is where the oldest are. */
  #dropOld(requests: Waiting[], now: number, refuse: (old: Waiting) => void): void {
    const most = this.#mostMs(now);
    for (let first = requests[0]; first !== undefined; first = requests[0]) {
      if (now - first.since <= most) return;
      requests.shift();
      this.#leave();
      refuse(first);
    }
  }

  #mostMs(now: number): number {
    return now - this.#since > STANDING_MS ? this.#ageMs : this.#ageMs * BURST_FACTOR;
  }
}
