import type { KeyObject } from 'node:crypto';
import { ServiceError } from '../../kernel/errors.ts';
import type { Clock, Timers, World } from '../../kernel/world.ts';
import { type Keys, readKeyDocument } from './key-document.ts';
import { fetchKeyDocument } from './key-fetch.ts';

/** The public keys of an issuer. */
export interface KeySet {
  /**
   * The public key of that id; `undefined` if the issuer publishes no such key. Throws `unavailable` if no set was ever fetched, or
   * the last fetch is more than a day ago.
   */
  keyFor(kid: string): Promise<KeyObject | undefined>;
}

export interface KeySetOptions {
  readonly url: string;
  readonly http: World['http'];
  readonly clock: Clock;
  readonly timers: Timers;
}

/** Time after its fetch during which a set serves while the issuer does not answer. */
const usableMs = 86_400_000;
/** Pause after a failed fetch. The last good set serves meanwhile, so that requests do not wait for the timeout. */
const retryAfterMs = 10_000;
/** The same pause while no set was fetched yet. */
const retryEmptyAfterMs = 1000;
/** Pause between two fetches for unknown keys, because any caller can name a key that does not exist. */
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
  /** Time of the last fetch for a key that the set lacks. */
  #soughtAt: number | undefined;
  #refreshing: Promise<void> | undefined;

  constructor(options: KeySetOptions) {
    this.#options = options;
  }

  async keyFor(kid: string): Promise<KeyObject | undefined> {
    const asked = await this.#refreshIfStale();
    const key = this.#usableKeys().get(kid);
    // This call has just fetched the set, so a second fetch would bring the same one.
    if (key !== undefined || asked || !this.#maySeek()) return key;
    await this.#refresh();
    return this.#usableKeys().get(kid);
  }

  /** Waits for a new set if the old one is stale: a withdrawn key must not serve longer than its set. */
  async #refreshIfStale(): Promise<boolean> {
    if (this.#held && this.#within(this.#held.askedAt, this.#held.freshMs)) return false;
    if (this.#failedLately()) return false;
    await this.#refresh();
    return true;
  }

  /** Whether to fetch for a key that the set lacks. A call may always join a fetch that is under way. */
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

  /** False for a time in the future: after the clock was set back, an old set must not count as fresh, nor fetches stop. */
  #within(at: number | undefined, ms: number): boolean {
    const now = this.#options.clock.now();
    return at !== undefined && at <= now && now - at < ms;
  }

  /** Starts a fetch, or joins the one under way. Never rejects: after a failure the old set stays. */
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
