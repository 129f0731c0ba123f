import { ServiceError } from '../kernel/errors.ts';
import { type QuotaLimit, quotaExceeded } from '../kernel/quota.ts';
import type { World } from '../kernel/world.ts';
import type { ByteOwner, RecordStore } from '../store/port.ts';
import { addUse, type KindOfUse, NO_USE, plus, readUse, type Use } from './usage-store.ts';

/**
 * A process adds its counts to the store after this time or this many bytes, and then reads those of other processes.
 */
const FLUSH_MS = 20_000;
const FLUSH_BYTES = 8 * 1024 * 1024;
const FRESH_MS = 30_000;
/**
 * Together with the time until other processes add, a minute. A decision does not use older figures, which an idle
 * process has.
 */
const STALE_MS = 40_000;
const MINUTE_MS = 60_000;
/** From this share of its bytes on an owner is warned of, at most once in the time. */
const WARNED_SHARE = 0.8;
const WARNED_MS = 3_600_000;
/** Owners that a process keeps in mind; one that has nothing to add is forgotten first. */
const OWNERS_MAX = 10_000;

export interface MeterOptions {
  readonly store: () => Promise<RecordStore>;
  readonly world: Pick<World, 'clock' | 'timers'>;
  /** The shard to which this process adds, below `SHARDS`. */
  readonly shard: number;
  readonly limitOf: (owner: ByteOwner) => QuotaLimit;
  /** The most bytes that the requests of one owner may write in a minute through this process. */
  readonly bytesPerMinute: number;
  readonly onFailure: (error: unknown) => void;
  /** Called when a write of the owner reaches, or would exceed, 80 % of its quota. */
  readonly onNearLimit: (owner: ByteOwner) => void;
}

interface Account {
  readonly owner: ByteOwner;
  /** The use read from the store at `readAt`, plus the additions of this process since then. */
  stored: Use;
  readAt: number;
  /** Use that was counted and not yet added to the store. */
  pending: Use;
  addedAt: number;
  /** The number of additions of this process to the store. */
  additions: number;
  /** The bytes written by requests in the minute that began at `began`. */
  minute: { readonly began: number; readonly bytes: number };
  warnedAt: number;
  adding: Promise<void> | null;
  reading: Promise<void> | null;
}

/** The bytes of one decision. */
export interface Amount {
  /** The change of the owner's stored bytes; negative for less than before. */
  readonly growth: number;
  /** All written bytes, also those that replace others. */
  readonly written: number;
}

/** This process does not know the use of the owner, or its knowledge is too old. */
export class UnknownUse extends Error {
  readonly owner: ByteOwner;

  constructor(owner: ByteOwner) {
    super('what the owner has stored is not known');
    this.name = 'UnknownUse';
    this.owner = owner;
  }
}

/**
 * The use of owners as this process knows it: its own writes at once, those of other processes within a minute. A killed
 * process loses the counts that it had not added, at most 8 MiB an owner.
 */
export class Meter {
  readonly #options: MeterOptions;
  readonly #accounts = new Map<string, Account>();
  #cancelTimer: (() => void) | null = null;
  #isClosed = false;

  constructor(options: MeterOptions) {
    this.#options = options;
  }

  /** Reads the use of the owner, before a decision that may add to it. */
  async ready(owner: ByteOwner): Promise<void> {
    const account = this.#account(owner);
    if (this.#ageOf(account) >= STALE_MS) await this.#reading(account);
  }

  /**
   * Throws `quota_exceeded` when the owner would exceed its quota, `rate_limited` when requests have used up the bytes
   * of this minute, and `UnknownUse` when `ready` was not called lately.
   */
  admit(owner: ByteOwner, { growth, written }: Amount, by: 'request' | 'job'): void {
    const account = this.#account(owner);
    if (growth > 0) this.#bound(account, growth);
    if (by === 'request' && written > 0) this.#pace(account, written);
  }

  #bound(account: Account, bytes: number): void {
    const age = this.#ageOf(account);
    if (age >= STALE_MS) throw new UnknownUse(account.owner);
    // Younger figures are used until new ones are read.
    if (age >= FRESH_MS) this.#reading(account).catch(this.#options.onFailure);
    const limit = this.#options.limitOf(account.owner);
    const used = usedOf(account);
    if (used + bytes >= WARNED_SHARE * limit.bytes) this.#warn(account);
    if (used + bytes > limit.bytes) throw quotaExceeded(limit, used);
  }

  #ageOf({ readAt }: Account): number {
    return this.#options.world.clock.now() - readAt;
  }

  #warn(account: Account): void {
    const now = this.#options.world.clock.now();
    if (now - account.warnedAt < WARNED_MS) return;
    account.warnedAt = now;
    this.#options.onNearLimit(account.owner);
  }

  /** Counts the bytes written by a request in its minute. */
  wrote(owner: ByteOwner, bytes: number): void {
    if (bytes <= 0) return;
    const account = this.#account(owner);
    const { began, bytes: before } = this.#minuteOf(account);
    account.minute = { began, bytes: before + bytes };
  }

  /** One write is smaller than the bytes of a minute, so that each fits into some minute. */
  #pace(account: Account, bytes: number): void {
    const { began, bytes: written } = this.#minuteOf(account);
    if (written + bytes <= this.#options.bytesPerMinute || written === 0) return;
    const retryAfterSeconds = Math.ceil((began + MINUTE_MS - this.#options.world.clock.now()) / 1000);
    throw new ServiceError('rate_limited', 'The bytes that may be written in a minute are used up.', {
      retryAfterSeconds,
    });
  }

  #minuteOf({ minute }: Account): Account['minute'] {
    const now = this.#options.world.clock.now();
    return now - minute.began < MINUTE_MS ? minute : { began: now, bytes: 0 };
  }

  add(owner: ByteOwner, kind: KindOfUse, bytes: number): void {
    if (bytes === 0) return;
    const account = this.#account(owner);
    account.pending = plus(account.pending, { ...NO_USE, [kind]: bytes });
    const age = this.#options.world.clock.now() - account.addedAt;
    const size = Math.abs(account.pending.data) + Math.abs(account.pending.runs);
    if (age >= FLUSH_MS || size >= FLUSH_BYTES) this.#add(account).catch(this.#options.onFailure);
    else this.#schedule();
  }

  /** The use of the owner over all processes. */
  async useOf(owner: ByteOwner): Promise<Use> {
    const account = this.#account(owner);
    await this.#read(account);
    return plus(account.stored, account.pending);
  }

  /** Adds everything that is counted, and sets no timer any more. For the end of the process. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.flush();
  }

  /** Adds everything that is counted. */
  async flush(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    await Promise.all([...this.#accounts.values()].map((account) => this.#add(account)));
  }

  #reading(account: Account): Promise<void> {
    account.reading ??= this.#read(account).finally(() => {
      account.reading = null;
    });
    return account.reading;
  }

  #account(owner: ByteOwner): Account {
    const id = `${owner.kind}/${owner.name}`;
    const known = this.#accounts.get(id);
    if (known !== undefined) return known;
    this.#makeRoom();
    const account: Account = {
      owner,
      stored: NO_USE,
      readAt: Number.NEGATIVE_INFINITY,
      pending: NO_USE,
      addedAt: this.#options.world.clock.now(),
      additions: 0,
      minute: { began: 0, bytes: 0 },
      warnedAt: Number.NEGATIVE_INFINITY,
      adding: null,
      reading: null,
    };
    this.#accounts.set(id, account);
    return account;
  }

  async #read(account: Account): Promise<void> {
    const store = await this.#options.store();
    // An addition during the read may or may not be in the answer, so the read is repeated.
    for (let additions = -1; additions !== account.additions; ) {
      // A failed addition stays in `pending`.
      await account.adding?.catch(() => undefined);
      ({ additions } = account);
      account.stored = await readUse(store, account.owner);
    }
    account.readAt = this.#options.world.clock.now();
  }

  async #add(account: Account): Promise<void> {
    // Bytes counted during an addition are added after it: no timer may be scheduled for them.
    if (account.adding !== null) return account.adding.catch(() => undefined).then(() => this.#add(account));
    const more = account.pending;
    if (more.data === 0 && more.runs === 0) return;
    account.pending = NO_USE;
    account.additions += 1;
    account.stored = plus(account.stored, more);
    account.addedAt = this.#options.world.clock.now();
    account.adding = this.#options
      .store()
      .then((store) => addUse(store, account.owner, this.#options.shard, more))
      .catch((error: unknown) => {
        account.pending = plus(account.pending, more);
        account.stored = plus(account.stored, { data: -more.data, runs: -more.runs });
        this.#schedule();
        throw error;
      })
      .finally(() => {
        account.adding = null;
      });
    await account.adding;
  }

  #schedule(): void {
    if (this.#isClosed) return;
    this.#cancelTimer ??= this.#options.world.timers.after(FLUSH_MS, () => {
      this.#cancelTimer = null;
      this.flush().catch(this.#options.onFailure);
    });
  }

  #makeRoom(): void {
    if (this.#accounts.size < OWNERS_MAX) return;
    for (const [id, { pending, adding, reading }] of this.#accounts) {
      if (pending.data === 0 && pending.runs === 0 && adding === null && reading === null) {
        this.#accounts.delete(id);
        return;
      }
    }
  }
}

function usedOf({ stored, pending }: Account): number {
  return Math.max(0, stored.data + stored.runs + pending.data + pending.runs);
}
