import { limits } from '../../../../contracts/generated/limits.ts';
import { WaitingCall } from '../../../kernel/waiting-call.ts';
import { type PlaceOwner, type WaitingPlace, WaitingPlaces } from '../../../kernel/waiting-places.ts';
import type { World } from '../../../kernel/world.ts';

/**
 * The first and the longest pause between queries of a waiting tenant without known events. Only a query finds commits of other
 * instances, and on a cloud database each query costs a read.
 */
const RECHECK_MS_MIN = 1_000;
const RECHECK_MS_MAX = 8_000;

/**
 * The most stored due times of one tenant, and the most tenants without a waiting call. The next query finds events whose due time
 * was dropped.
 */
const DUES_PER_TENANT_MAX = 64;
const QUIET_TENANTS_MAX = 1_000;

export interface WaitBounds {
  readonly perTenant: number;
  readonly overall: number;
}

const BOUNDS: WaitBounds = {
  perTenant: limits.outboxWaitingCallsPerTenantMax,
  overall: limits.outboxWaitingCallsMax,
};

/**
 * The lease calls of one instance that wait for events. They wake when this instance makes an event of the tenant due, at the due time
 * of a known event, and for regular queries, which find events of other instances.
 *
 * No event is lost between a query and the wait: a call registers before its first query, and an announcement during a query makes it
 * query again. An announcement wakes only the call that has waited longest. A call that leaves with a full list, or that was woken
 * and could not query, wakes the next. So the number of queries does not grow with the number of waiting calls.
 */
export class OutboxWaits {
  readonly #world: Pick<World, 'clock' | 'timers'>;
  readonly #perTenant: number;
  readonly #places: WaitingPlaces;
  readonly #tenants = new Map<string, WaitingTenant>();
  #waiting = 0;

  constructor(world: Pick<World, 'clock' | 'timers'>, bounds: WaitBounds = BOUNDS) {
    this.#world = world;
    this.#perTenant = bounds.perTenant;
    this.#places = new WaitingPlaces(bounds.overall);
  }

  /** Announces that an event of the tenant is due at `dueAt`, in milliseconds since 1970, in the past or the future. */
  announce(tenantId: string, dueAt: number): void {
    const tenant = this.#tenants.get(tenantId);
    if (dueAt <= this.#world.clock.now()) tenant?.wake();
    else (tenant ?? this.#open(tenantId)).expect(dueAt);
  }

  /**
   * Calls `look`, and again after each wake-up, until it finds events, the time is over or the caller has disconnected. If the limit of
   * waiting calls is reached, it calls `look` once.
   */
  async find<T>(wish: WaitWish, look: () => Promise<readonly T[]>): Promise<readonly T[]> {
    const waiting = this.#enter(wish);
    if (waiting === null) return look();
    let found: readonly T[] | null = null;
    try {
      do {
        found = null;
        found = await look();
      } while (found.length === 0 && (await waiting.next()));
      return found;
    } finally {
      waiting.leave(found?.length ?? null);
    }
  }

  /** Registers a call before its first look. `null` if the limit of waiting calls is reached. */
  #enter(wish: WaitWish): Waiting | null {
    const { tenantId, caller } = wish;
    const place = this.#places.take([caller, { name: `tenant ${tenantId}`, share: this.#perTenant }]);
    if (place === null) return null;
    const tenant = this.#tenants.get(tenantId) ?? this.#open(tenantId);
    this.#waiting += 1;
    const waitMs = Math.min(wish.waitMs, limits.outboxWaitSecondsMax * 1000);
    return tenant.enter({ ...wish, waitMs }, place, () => {
      this.#waiting -= 1;
      if (tenant.idle) this.#tenants.delete(tenantId);
    });
  }

  #open(tenantId: string): WaitingTenant {
    if (this.#tenants.size - this.#waiting >= QUIET_TENANTS_MAX) {
      for (const [name, { size }] of this.#tenants) {
        if (size > 0) continue;
        this.#tenants.delete(name);
        break;
      }
    }
    const tenant = new WaitingTenant(this.#world);
    this.#tenants.set(tenantId, tenant);
    return tenant;
  }
}

export interface WaitWish {
  readonly tenantId: string;
  readonly caller: PlaceOwner;
  readonly waitMs: number;
  /** The most events that the call takes. */
  readonly wanted: number;
  /** Aborted when the caller disconnects or the server drains. */
  readonly signal: AbortSignal;
}

/** One waiting call. */
interface Waiting {
  /** Settles with `true` when the call should look again, and with `false` when the time is over or the caller has disconnected. */
  next(): Promise<boolean>;
  /** Ends the wait. `found` is the number of events of the call, `null` if its look failed. */
  leave(found: number | null): void;
}

class WaitingTenant {
  readonly #world: Pick<World, 'clock' | 'timers'>;
  /** The waiting calls in the order of their arrival. */
  readonly #calls = new Set<WaitingCall>();
  /** Known future due times, ascending and distinct. */
  #dues: number[] = [];
  #recheckMs = RECHECK_MS_MIN;
  #recheckAt = 0;
  #disarm: (() => void) | null = null;

  constructor(world: Pick<World, 'clock' | 'timers'>) {
    this.#world = world;
  }

  get size(): number {
    return this.#calls.size;
  }

  /** Whether the tenant has neither waiting calls nor due times. */
  get idle(): boolean {
    return this.#calls.size === 0 && this.#dues.length === 0;
  }

  enter({ waitMs, wanted, signal }: WaitWish, place: WaitingPlace, left: () => void): Waiting {
    if (this.#calls.size === 0) this.#restart();
    const call = new WaitingCall(this.#world.timers, waitMs, signal, place);
    this.#calls.add(call);
    this.#arm();
    return {
      next: () => call.next(),
      leave: (found) => {
        this.#calls.delete(call);
        call.close();
        if (found !== null && found > 0) this.#restart();
        // Wake the next call after a failed look, a full list, or a wake-up that led to no look.
        if (found === null || found >= wanted || call.owesLook) this.wake();
        this.#arm();
        left();
      },
    };
  }

  wake(): void {
    let looking: WaitingCall | undefined;
    for (const call of this.#calls) {
      if (call.wakeIfIdle()) return;
      looking ??= call;
    }
    // All calls are querying, and may have read past the place of the new event.
    looking?.lookAgain();
  }

  expect(dueAt: number): void {
    this.#forgetPassed();
    if (this.#dues.includes(dueAt)) return;
    this.#dues = [...this.#dues, dueAt].sort((a, b) => a - b).slice(0, DUES_PER_TENANT_MAX);
    this.#arm();
  }

  #restart(): void {
    this.#forgetPassed();
    this.#recheckMs = RECHECK_MS_MIN;
    this.#recheckAt = this.#world.clock.now() + this.#recheckMs;
  }

  #forgetPassed(): boolean {
    const known = this.#dues.length;
    const now = this.#world.clock.now();
    this.#dues = this.#dues.filter((dueAt) => dueAt > now);
    return this.#dues.length < known;
  }

  /** Sets the one timer again when the next due or recheck time may have changed. It is off without waiting calls. */
  #arm(): void {
    this.#disarm?.();
    this.#disarm = null;
    if (this.#calls.size === 0) return;
    const at = Math.min(this.#recheckAt, this.#dues[0] ?? Number.POSITIVE_INFINITY);
    this.#disarm = this.#world.timers.after(Math.max(1, at - this.#world.clock.now()), () => this.#tick());
  }

  #tick(): void {
    const due = this.#forgetPassed();
    const now = this.#world.clock.now();
    const recheck = this.#recheckAt <= now;
    if (recheck) {
      this.#recheckMs = Math.min(2 * this.#recheckMs, RECHECK_MS_MAX);
      this.#recheckAt = now + this.#recheckMs;
    }
    // A timer may fire slightly early by the clock; it is then set again.
    if (due || recheck) this.wake();
    this.#arm();
  }
}
