import type { SvcClient, SvcRecord } from '../../sdk/typescript/src/index.ts';
import type { Edition, Passage } from './library.ts';

/** The observations of the readers: how often each edition, and every answer that mixed two editions. */
export interface Seen {
  readonly reads: Record<Edition, number>;
  readonly faults: string[];
}

export interface Read {
  readonly name: string;
  /** Reads records of one moment. */
  readonly read: (client: SvcClient) => Promise<readonly SvcRecord[]>;
  /** How many records of each edition the read must find. */
  readonly expected: Readonly<Record<Edition, number>>;
}

/** A page of a query, and the export of everything: each is answered from one moment. */
export function readsOf(collection: string, editions: Readonly<Record<Edition, readonly Passage[]>>): Read[] {
  const inSample = (edition: Edition) => editions[edition].filter(({ metadata }) => metadata.sample).length;
  return [
    {
      name: 'a query',
      read: async (client) => {
        const filter = { path: '/metadata/sample', value: true };
        return (await client.queryRecords(collection, { filter, limit: 1_000 })).items;
      },
      expected: { 1: inSample(1), 2: inSample(2) },
    },
    {
      name: 'an export',
      // Without the collection there is no export; to a reader that is an empty one.
      read: async (client) => (await client.exportCollection(collection))?.records ?? [],
      expected: { 1: editions[1].length, 2: editions[2].length },
    },
  ];
}

/** Readers that read without a pause until they are stopped, each with a client of its own. */
export class Readers {
  readonly seen: Seen = { reads: { 1: 0, 2: 0 }, faults: [] };
  readonly #loops: Promise<void>[];
  readonly #waiting: { edition: Edition; readers: Set<Read>; seen: () => void }[] = [];
  #stopped = false;

  constructor(reads: readonly Read[], clientOf: () => SvcClient) {
    this.#loops = reads.map((read) => this.#loop(read, clientOf()));
    // A failure is thrown by `stop`.
    for (const loop of this.#loops) loop.catch(() => undefined);
  }

  /** Settles when each reader has seen the edition, or when one of them has failed. */
  async haveSeen(edition: Edition, reads: readonly Read[]): Promise<void> {
    const seen = new Promise<void>((resolve) => {
      this.#waiting.push({ edition, readers: new Set(reads), seen: resolve });
    });
    await Promise.race([seen, ...this.#loops]);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#loops);
  }

  async #loop(read: Read, client: SvcClient): Promise<void> {
    let newest: Edition = 1;
    while (!this.#stopped) {
      const edition = this.#judged(read, await read.read(client));
      // The fault is counted; the story fails by it.
      if (edition === null) return;
      if (edition < newest) this.seen.faults.push(`${read.name} saw edition 1 after edition 2`);
      newest = edition;
      this.seen.reads[edition] += 1;
      for (const waiting of this.#waiting) {
        if (waiting.edition === edition && waiting.readers.delete(read) && waiting.readers.size === 0)
          waiting.seen();
      }
    }
  }

  /** The edition of an answer; `null`, and a fault, for an answer that is not one edition whole. */
  #judged({ name, expected }: Read, records: readonly SvcRecord[]): Edition | null {
    const counts: Record<Edition, number> = { 1: 0, 2: 0 };
    for (const { metadata } of records) counts[metadata?.['edition'] as Edition] += 1;
    const whole = ([1, 2] as const).find(
      (edition) => counts[edition] === expected[edition] && records.length === expected[edition],
    );
    if (whole === undefined)
      this.seen.faults.push(`${name} saw ${counts[1]} of edition 1 and ${counts[2]} of edition 2`);
    return whole ?? null;
  }
}
