import { setTimeout as pauseFor } from 'node:timers/promises';
import type { StoredDocument } from './client.ts';

/** What a reader may see at some time: an import, whole, and nothing else. */
export interface Edition {
  readonly importId: string;
  readonly sourceVersion: number;
  readonly documents: number;
}

/** What a look showed; `null` when nothing is published. */
export type Look = () => Promise<{
  readonly manifest: { readonly importId: string };
  readonly documents: readonly StoredDocument[];
} | null>;

const PAUSE_MS = 50;

/**
 * Looks at a source again and again and checks each time, by itself and not by what the reader says of itself: what is
 * seen is nothing, or one edition that may be seen by now, whole; and never an earlier one again.
 */
export class Watch {
  /** How often each was seen; the first is "nothing". */
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
    // Whoever waits for a look or the end is told; until then it must not end the process.
    this.#ended.catch(() => {});
  }

  /** From now on this edition may be seen. */
  allow(edition: Edition): void {
    this.#editions.push(edition);
    this.counts.push(0);
  }

  /** What a look shows that begins after this call; throws when any look so far was wrong. */
  async seen(): Promise<Edition | null> {
    const look = new Promise<Edition | null>((resolve) => this.#waiting.push(resolve));
    return Promise.race([look, this.#ended.then(() => Promise.reject(new Error('nobody looks any more')))]);
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
      for (const tell of waiting) tell(this.#editions[place - 1] ?? null);
      await pauseFor(PAUSE_MS);
    }
  }

  /** The place of what was seen: 0 is nothing, then the editions in the order in which they were allowed. */
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
