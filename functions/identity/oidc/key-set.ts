import type { KeyObject } from 'node:crypto';
import { ServiceError } from '../../kernel/errors.ts';
import type { Clock, Timers, World } from '../../kernel/world.ts';
import { type Keys, readKeyDocument } from './key-document.ts';
import { fetchKeyDocument } from './key-fetch.ts';

/** The public keys of an issuer. */
export interface KeySet {
  /**
   * The public key of that id; `undefined` when no such key is published. Throws `unavailable` where no set could be
   * fetched, or none for a day.
   */
  keyFor(kid: string): Promise<KeyObject | undefined>;
}

export interface KeySetOptions {
  readonly url: string;
  readonly http: World['http'];
  readonly clock: Clock;
  readonly timers: Timers;
}

/** How long after its fetch a set serves while the issuer does not answer. */
const usableMs = 86_400_000;
/** After a failure the last good set serves at once, so that an outage does not cost every request the timeout. */
const retryAfterMs = 10_000;
/** The same while there is no set. */
const retryEmptyAfterMs = 1000;
/** Any caller can name a key that does not exist; at most one fetch in this time follows from it. */
const seekEveryMs = 60_000;

export function createKeySet(options: KeySetOptions): KeySet {
  return new CachedKeySet(options);
}

interface HeldKeys {
  readonly keys: Keys;
  readonly askedAt: number;
  readonly freshMs: number;
}

class CachedKeySet implements KeySet {
  readonly #options: KeySetOptions;
  #held: HeldKeys | undefined;
  #failure: { readonly at: number; readonly cause: unknown } | undefined;
  /** The time of the last fetch for a key that the set lacks. */
  #soughtAt: number | undefined;
  #refreshing: Promise<void> | undefined;

  constructor(options: KeySetOptions) {
    this.#options = options;
  }

  async keyFor(kid: string): Promise<KeyObject | undefined> {
    const asked = await this.#refreshIfStale();
    const key = this.#usableKeys().get(kid);
    // A set that this very call waited for need not be asked for again.
    if (key !== undefined || asked || !this.#maySeek()) return key;
    await this.#refresh();
    return this.#usableKeys().get(kid);
  }

  /** A key that left the set must not outlive it, so a stale set is not served while a new one is under way. */
  async #refreshIfStale(): Promise<boolean> {
    if (this.#held && this.#within(this.#held.askedAt, this.#held.freshMs)) return false;
    if (this.#failedLately()) return false;
    await this.#refresh();
    return true;
  }

  /** Whether to fetch because of a key that the set lacks. A call joins a fetch that is under way at no cost. */
  #maySeek(): boolean {
    if (this.#refreshing) return true;
    if (this.#failedLately() || this.#within(this.#soughtAt, seekEveryMs)) return false;
    this.#soughtAt = this.#options.clock.now();
    return true;
  }

  #usableKeys(): Keys {
    if (this.#held && this.#isUsable(this.#held)) return this.#held.keys;
    throw new ServiceError(
      'unavailable',
      'The keys that identity tokens are verified with could not be fetched.',
      { retryAfterSeconds: retryEmptyAfterMs / 1000 },
      { cause: this.#failure?.cause },
    );
  }

  #isUsable({ askedAt }: HeldKeys): boolean {
    return this.#options.clock.now() - askedAt <= usableMs;
  }

  #failedLately(): boolean {
    const usable = this.#held !== undefined && this.#isUsable(this.#held);
    return this.#within(this.#failure?.at, usable ? retryAfterMs : retryEmptyAfterMs);
  }

  /** A clock that was set back must not make an old set young, nor stop fetches. */
  #within(at: number | undefined, ms: number): boolean {
    const now = this.#options.clock.now();
    return at !== undefined && at <= now && now - at < ms;
  }

  /** One fetch at a time, shared by all waiting calls. Never rejects: a failure keeps the old set. */
  #refresh(): Promise<void> {
    this.#refreshing ??= this.#load().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #load(): Promise<void> {
    const askedAt = this.#options.clock.now();
    try {
      const { text, freshMs } = await fetchKeyDocument(this.#options);
      this.#held = { keys: readKeyDocument(text), askedAt, freshMs };
      this.#failure = undefined;
    } catch (cause) {
      this.#failure = { at: this.#options.clock.now(), cause };
    }
  }
}
