/** The content of one writer's two documents: the number of its commit, and how many commits there were since the restore. */
export interface Pair {
  readonly n: number;
  readonly revision: number;
}

/** The state of a tenant that a client was answered, true at one moment between its call and its answer. */
export interface Sighting {
  /** For messages: who asked what. */
  readonly what: string;
  readonly called: number;
  readonly returned: number;
  /** The archive that was restored last, where the answer shows it. */
  readonly era: number | null;
  /** By writer. */
  readonly pairs: ReadonlyMap<number, Pair>;
  /** Whether a writer that is not in `pairs` has no documents; else nothing is known of it. */
  readonly whole: boolean;
  /** The writer whose commit was acknowledged, where this is its answer. */
  readonly acknowledges?: number;
}

/** One try to restore an era, from when it began. */
export interface Attempt {
  readonly era: number;
  readonly called: number;
  /** `null` where no client got its answer. */
  returned: number | null;
}

/** Everything that all clients saw, in the order of a counter that they share. */
export class Chronicle {
  readonly sightings: Sighting[] = [];
  readonly attempts: Attempt[] = [];
  /** Contradictions within one answer. */
  readonly faults: string[] = [];
  /** When each commit was sent for the first time: writer → by number, from 1. */
  readonly #sent = new Map<number, number[]>();
  #moment = 0;

  tick(): number {
    return ++this.#moment;
  }

  send(writer: number, n: number): number {
    const sent = this.#sent.get(writer) ?? [];
    this.#sent.set(writer, sent);
    sent[n] ??= this.tick();
    return sent[n];
  }

  sentAt(writer: number, n: number): number | undefined {
    return this.#sent.get(writer)?.[n];
  }

  attempt(era: number): Attempt {
    const attempt: Attempt = { era, called: this.tick(), returned: null };
    this.attempts.push(attempt);
    return attempt;
  }

  get acknowledged(): number {
    return this.sightings.filter(({ acknowledges }) => acknowledges !== undefined).length;
  }
}
