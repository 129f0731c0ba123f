import { ServiceError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import type { Clock, RandomSource, Timers } from '../kernel/world.ts';
import {
  ClassLine,
  classRules,
  type LineRequest,
  type LoadClass,
  loadClasses,
  type Slot,
  type Waiting,
} from './class-line.ts';
import { OverloadLog } from './overload-log.ts';

/**
 * The requests at work in a process are bounded, and so is the time for which arriving requests start in one turn of the event loop.
 * Further ones wait in a line of their class. A request that would wait longer than its class allows is refused at once: a line
 * that only grows would answer every request too late.
 *
 * Without that bound, requests would wait in the sockets, of which the process knows neither the number nor the age.
 */

export interface LineWorld {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: RandomSource;
}

/** For how long requests that arrive start at once in one turn of the event loop; the others of the turn wait for its end. */
const TURN_MS = 20;
const TICK_MS = 100;
/** The ticks after which the rate of starts is known. */
const TICKS_MIN = 3;
/** A request that waits this long for its body, an event or a provider no longer counts as work. */
const ASIDE_MS = 250;
/** The share of the places that one source address may have at work. */
const SOURCE_SHARE = 3 / 4;
/** The waits that refusals name differ, because clients that retry at the same time would cause the next overload. */
const RETRY_AFTER_SECONDS = [1, 2, 3, 4, 5] as const;

/** One object of one shape for each request: the line is on the path of all of them. */
class Place implements Slot {
  readonly source: string;
  readonly since: number;
  /** Whether the request may be waiting for something outside: for its body at first. */
  waits = true;
  isCounted = true;
  readonly #mayWait: boolean;
  readonly #given: (place: Place, isLeft: boolean) => void;

  constructor(
    { source, mayWait }: LineRequest,
    since: number,
    given: (place: Place, isLeft: boolean) => void,
  ) {
    this.source = source;
    this.since = since;
    this.#mayWait = mayWait;
    this.#given = given;
  }

  received(): boolean {
    this.waits = this.#mayWait;
    return !this.#mayWait && !this.isCounted;
  }

  aside(): void {
    this.#given(this, false);
  }

  leave(): void {
    this.#given(this, true);
  }
}

export class RequestLine {
  readonly #world: LineWorld;
  readonly #most: number;
  /** Calls back after the event loop has polled for new requests. */
  readonly #nextTurn: (callback: () => void) => unknown;
  readonly #overload: OverloadLog;
  /** In the order in which they started. */
  readonly #atWork = new Set<Place>();
  readonly #bySource = new Map<string, number>();
  #counted = 0;
  readonly #lines: Readonly<Record<LoadClass, ClassLine>> = {
    lease: new ClassLine(classRules.lease),
    usual: new ClassLine(classRules.usual),
    bulk: new ClassLine(classRules.bulk),
  };
  #isDue = false;
  /** The time since which requests have started in this turn of the event loop; `null` before the first. */
  #turnAt: number | null = null;
  /** Starts a millisecond while requests wait; `null` before they have waited for a tick. */
  #startsPerMs: number | null = null;
  #starts = 0;
  #ticks = 0;
  #asideAt = 0;
  #tickAt: number | null = null;
  readonly #refusals = RETRY_AFTER_SECONDS.map(refusalOf);

  /** `most`: how many requests may be at work; `Infinity` for no line at all. */
  constructor(
    world: LineWorld,
    log: Log,
    most: number,
    nextTurn: (callback: () => void) => unknown = setImmediate,
  ) {
    this.#world = world;
    this.#overload = new OverloadLog(log);
    this.#most = most;
    this.#nextTurn = nextTurn;
  }

  /** How many requests wait. */
  get waiting(): number {
    return this.#lines.lease.count + this.#lines.usual.count + this.#lines.bulk.count;
  }

  /** Whether a request may be refused, apart from its source. */
  mayRefuse(loadClass: LoadClass): boolean {
    return this.#lines[loadClass].mayRefuse;
  }

  /** Whether a request of the source would be refused now. */
  isFull(loadClass: LoadClass, source: string): boolean {
    return this.#isTooLong(loadClass, source, this.#world.clock.now());
  }

  /** The refusal of a request that would wait too long; `null` for any other. */
  refusalFor(loadClass: LoadClass, source: string): ServiceError | null {
    const now = this.#world.clock.now();
    return this.#isTooLong(loadClass, source, now) ? this.#refuse(loadClass, now) : null;
  }

  /** A place at work, at once where one is free and no request waits. Rejects with `overloaded`. */
  enter(request: LineRequest): Slot | Promise<Slot> {
    const now = this.#world.clock.now();
    if (this.#most === Infinity) return this.#start(request, now);
    this.#overload.passed(now);
    this.#turnAt ??= now;
    this.#soon();
    if (this.waiting === 0 && this.#isInTime(now) && this.#findPlace(request, now)) {
      if (this.#tickAt !== null) this.#starts += 1;
      return this.#start(request, now);
    }
    return this.#wait(request, now);
  }

  async #wait(request: LineRequest, now: number): Promise<Slot> {
    const { loadClass, source, signal } = request;
    if (signal.aborted) throw this.#refusals[0];
    if (this.#isTooLong(loadClass, source, now)) throw this.#refuse(loadClass, now);
    const line = this.#lines[loadClass];
    const { promise, resolve, reject } = Promise.withResolvers<Slot>();
    const waiting: Waiting = { ...request, start: resolve, refuse: reject, since: now };
    line.add(waiting, now);
    const gone = (): void => {
      line.remove(waiting);
      reject(this.#refusals[0]);
    };
    signal.addEventListener('abort', gone, { once: true });
    if (this.#tickAt === null) this.#nextTick(now);
    try {
      return await promise;
    } finally {
      signal.removeEventListener('abort', gone);
    }
  }

  #isTooLong(loadClass: LoadClass, source: string, now: number): boolean {
    const line = this.#lines[loadClass];
    const others = this.#nonEmpty().filter((one) => one !== line);
    const share = line.weight / others.reduce((sum, { weight }) => sum + weight, line.weight);
    // When none starts for lack of places, a request of a source with places at work may start at any time.
    const starts = this.#startsPerMs === null ? null : Math.max(this.#startsPerMs * share, 1 / TICK_MS);
    return line.isTooLong(source, starts, now);
  }

  #nonEmpty(): ClassLine[] {
    return loadClasses.map((name) => this.#lines[name]).filter(({ count }) => count > 0);
  }

  #start(request: LineRequest, now: number): Slot {
    const place = new Place(request, now, this.#given);
    this.#atWork.add(place);
    this.#count(place.source, 1);
    return place;
  }

  readonly #given = (place: Place, isLeft: boolean): void => {
    this.#putAside(place);
    if (isLeft && !this.#atWork.delete(place)) return;
    if (this.waiting > 0) this.#soon();
  };

  #count(source: string, by: number): void {
    this.#counted += by;
    const held = (this.#bySource.get(source) ?? 0) + by;
    if (held > 0) this.#bySource.set(source, held);
    else this.#bySource.delete(source);
  }

  #hasPlace({ loadClass, source }: Pick<LineRequest, 'loadClass' | 'source'>): boolean {
    if (this.#counted >= this.#most) return false;
    // Workers behind one address keep their leases while others of the address are at work.
    if (loadClass === 'lease') return true;
    return (this.#bySource.get(source) ?? 0) < Math.ceil(this.#most * SOURCE_SHARE);
  }

  /** Looks among those at work for some that only wait, where no place is free. */
  #findPlace(request: LineRequest, now: number): boolean {
    if (this.#hasPlace(request)) return true;
    if (this.#asideAt === now) return false;
    this.#putOldAside(now);
    return this.#hasPlace(request);
  }

  /** If the clock was set back, the turn ends: it would otherwise last until the clock has caught up. */
  #isInTime(now: number): boolean {
    const held = now - (this.#turnAt ?? now);
    return held >= 0 && held < TURN_MS;
  }

  /** Called after the event loop has polled for new requests. */
  #soon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#nextTurn(() => {
      this.#isDue = false;
      this.#turnAt = null;
      if (this.waiting > 0) this.#startWaiting(this.#world.clock.now());
    });
  }

  /**
   * At most as many as there are places: commits of one turn are flushed together, so few starts in a turn cost more
   * than a long turn. When places are missing, the next request starts as soon as another leaves its place.
   */
  #startWaiting(now: number): void {
    while (this.waiting > 0 && this.#counted < this.#most) {
      const next = this.#take(now);
      if (next === undefined) return;
      this.#starts += 1;
      next.start(this.#start(next, now));
    }
  }

  /** The next request: of the class that has left the most starts to others. */
  #take(now: number): Waiting | undefined {
    const lines = this.#nonEmpty();
    const total = lines.reduce((sum, { weight }) => sum + weight, 0);
    for (const line of lines.toSorted((a, b) => b.rank - a.rank)) {
      const found = line.take((waiting) => this.#hasPlace(waiting), now, this.#dropped(now));
      if (found === undefined) continue;
      for (const one of lines) one.passTurn(one === line ? total : 0);
      return found;
    }
    return undefined;
  }

  #dropped(now: number): (old: Waiting) => void {
    return ({ loadClass, refuse }) => refuse(this.#refuse(loadClass, now));
  }

  #nextTick(now: number): void {
    this.#tickAt = now;
    this.#world.timers.after(TICK_MS, () => this.#tick());
  }

  #tick(): void {
    const now = this.#world.clock.now();
    this.#measure(now);
    this.#putOldAside(now);
    for (const name of loadClasses) this.#lines[name].sweep(now, this.#dropped(now));
    if (this.waiting > 0) {
      this.#nextTick(now);
      this.#soon();
      return;
    }
    this.#tickAt = null;
    this.#startsPerMs = null;
    this.#ticks = 0;
    this.#starts = 0;
  }

  #measure(now: number): void {
    this.#ticks += 1;
    if (this.#startsPerMs === null && this.#ticks < TICKS_MIN) return;
    const ticks = this.#startsPerMs === null ? TICKS_MIN : 1;
    const rate = this.#starts / Math.max(1, (now - (this.#tickAt ?? now)) * ticks);
    this.#startsPerMs = this.#startsPerMs === null ? rate : (this.#startsPerMs + rate) / 2;
    this.#starts = 0;
  }

  #putOldAside(now: number): void {
    this.#asideAt = now;
    for (const place of this.#atWork) {
      const held = now - place.since;
      // Those behind it are younger; one from before the clock was set back is not known to be.
      if (held >= 0 && held < ASIDE_MS) return;
      if (place.waits) this.#putAside(place);
    }
  }

  #putAside(place: Place): void {
    if (!place.isCounted || !this.#atWork.has(place)) return;
    place.isCounted = false;
    this.#count(place.source, -1);
  }

  #refuse(loadClass: LoadClass, now: number): ServiceError {
    this.#overload.refused(now);
    // A worker may have little time left to end its run, so its refusal names the shortest wait.
    const [drawn = 0] = loadClass === 'lease' ? [] : this.#world.random.bytes(1);
    return this.#refusals[drawn % this.#refusals.length] as ServiceError;
  }
}

/** Made once: many requests are refused, and the trace of an error costs more than its answer. */
function refusalOf(retryAfterSeconds: number): ServiceError {
  const detail = 'The service has more requests than it can answer in time. Nothing was done.';
  return new ServiceError('overloaded', detail, { retryAfterSeconds });
}
