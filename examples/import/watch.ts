import { setTimeout as pauseFor } from 'node:timers/promises';
import type { StoredDocument } from './client.ts';

/** The state that a reader may see: one complete import. */
export interface Edition {
  readonly importId: string;
  readonly sourceVersion: number;
  readonly documents: number;
}

/** The result of a look; `null` if nothing is published. */
export type Look = () => Promise<{
  readonly manifest: { readonly importId: string };
  readonly documents: readonly StoredDocument[];
} | null>;

const PAUSE_MS = 50;

/**
 * Looks at a source repeatedly and checks each result independently of the reader: nothing, or one complete edition
 * that is allowed by now, and never an earlier one again.
 */
export class Watch {
  /** The number of looks per state; the first is "nothing". */
  readonly counts: number[] = [0];
  readonly #look: Look;
  readonly #editions: Edition[] = [];
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;
  #latest = 0;
  #waiting: ((seen: Edition | null) => void)[] = [];

  constructor(look: Look) {
    this.#look = look;
    this.#ended = this.#loop();
    // Without this handler a rejection before the first waiter would end the process.
    this.#ended.catch(() => {});
  }

  /** From now on readers may see this edition. */
  allow(edition: Edition): void {
    this.#editions.push(edition);
    this.counts.push(0);
  }

  /** The result of a look that begins after this call; throws if any look so far failed. */
  async seen(): Promise<Edition | null> {
    const look = new Promise<Edition | null>((resolve) => this.#waiting.push(resolve));
    return Promise.race([look, this.#ended.then(() => Promise.reject(new Error('the watch has ended')))]);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }

  async #loop(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const waiting = this.#waiting.splice(0);
      const place = this.#judge(await this.#look());
      this.counts[place] = (this.counts[place] ?? 0) + 1;
      for (const resolve of waiting) resolve(this.#editions[place - 1] ?? null);
      await pauseFor(PAUSE_MS);
    }
  }

  /** The index of the seen state: 0 is nothing, then the editions in the order in which they were allowed. */
  #judge(seen: Awaited<ReturnType<Look>>): number {
    const place = seen === null ? 0 : this.#placeOf(seen.documents, seen.manifest.importId);
    if (place < this.#latest)
      throw new Error(`a reader saw ${this.#name(place)} after ${this.#name(this.#latest)}`);
    this.#latest = place;
    return place;
  }

  #placeOf(documents: readonly StoredDocument[], importId: string): number {
    const place = 1 + this.#editions.findIndex((edition) => edition.importId === importId);
    const edition = this.#editions[place - 1];
    if (edition === undefined) {
      throw new Error(`a reader saw ${documents.length} documents of ${importId}, which is not published`);
    }
    const whole = documents.filter(
      ({ data, revision }) =>
        revision === 1 && data?.importId === importId && data.edition === edition.sourceVersion,
    );
    const distinct = new Set(whole.map(({ id }) => id)).size;
    if (distinct !== edition.documents || documents.length !== edition.documents) {
      throw new Error(
        `a reader saw ${documents.length} documents, ${distinct} of them of ${importId}, which has ${edition.documents}`,
      );
    }
    return place;
  }

  #name(place: number): string {
    return this.#editions[place - 1]?.importId ?? 'nothing';
  }
}
