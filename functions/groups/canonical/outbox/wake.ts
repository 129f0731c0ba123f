import { limits } from '../../../../contracts/generated/limits.ts';
import { WaitingCall } from '../../../kernel/waiting-call.ts';
import { type PlaceOwner, type WaitingPlace, WaitingPlaces } from '../../../kernel/waiting-places.ts';
import type { World } from '../../../kernel/world.ts';

/**
 * The pause between queries of a waiting tenant without known events, at first and at most: only a query finds commits of
 * other instances, and on a database in the cloud every query costs a read.
 */
const RECHECK_MS_MIN = 1_000;
const RECHECK_MS_MAX = 8_000;

/**
 * Due moments remembered of one tenant, and tenants remembered without a call that waits. The next query finds the
 * forgotten ones.
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
 * The lease calls of one instance that wait for events. They wake for an event of the tenant that this instance made due,
 * for the due time of a known event, and for regular queries that find events of other instances.
 *
 * No event is lost between a query and the wait: a call is a member before its first query, and an announcement during a
 * query makes it query again. One announcement wakes one call, the one that has waited longest; a call that leaves with as
 * many events as it could take, or that was woken and could not query, wakes the next. So a query is paid for once, however
 * many calls wait.
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

  /** Says that an event of the tenant is due at `dueAt`, in milliseconds since 1970: now, earlier or later. */
  announce(tenantId: string, dueAt: number): void {
    const tenant = this.#tenants.get(tenantId);
    if (dueAt <= this.#world.clock.now()) tenant?.wake();
    else (tenant ?? this.#open(tenantId)).expect(dueAt);
  }

  /**
   * Looks, and looks again whenever that is worth it, until it finds events, the time is over or the caller has
   * disconnected. Where as many calls wait as may, it looks once.
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

  /** Before the call's first look. `null` where as many wait as may. */
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
  /** At most so many are found. */
  readonly wanted: number;
  /** Aborted when the caller disconnects or the server drains. */
  readonly signal: AbortSignal;
}

/** One call that waits. */
interface Waiting {
  /** Settles when another look is worth it; with `false` when the time is over or the caller has disconnected. */
  next(): Promise<boolean>;
  /** Ends the wait; `found` is how many events the call leaves with, `null` where its look failed. */
  leave(found: number | null): void;
}

class WaitingTenant {
  readonly #world: Pick<World, 'clock' | 'timers'>;
  /** In the order in which they came. */
  readonly #calls = new Set<WaitingCall>();
  /** Known moments to come, ascending and distinct. */
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

  /** Whether nothing is left to remember. */
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
        // A failed look, one that came back full, and a wake-up that led to no look are all the next one's.
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
    // All are querying, and the new event may be behind the place that they have read.
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

  /** One timer, set again whenever the next due or recheck time may have changed. Without waiting calls it is off. */
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
    // A timer may fire a little before its time on the clock; then it is set again.
    if (due || recheck) this.wake();
    this.#arm();
  }
}
