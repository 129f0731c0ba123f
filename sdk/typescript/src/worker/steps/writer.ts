import type { JsonValue } from '../../generated/models.ts';
import { type Entry, isSettled } from './entries.ts';
import { INLINE_BYTES_MAX, type Journal, mayContinue, segmentKey, valueKey } from './journal.ts';
import type { StepPort } from './ports.ts';
import { valueBytes } from './values.ts';

/** Writes a journal. Entries that come during a write share the next one. */
export class JournalWriter {
  readonly #journal: Journal;
  readonly #port: Pick<StepPort, 'write'>;
  #current: Promise<void> | null = null;
  #next: Promise<void> | null = null;
  #news: Entry[] = [];

  constructor(journal: Journal, port: Pick<StepPort, 'write'>) {
    this.#journal = journal;
    this.#port = port;
  }

  /** Keeps an entry; the promise resolves after the service has it. */
  put(entry: Entry): Promise<void> {
    this.#journal.put(entry);
    if (isSettled(entry)) this.#news.push(entry);
    return this.#written();
  }

  /** Keeps a value with its entry, in a checkpoint of its own where it is large. */
  async putValue(entry: Entry, value: JsonValue): Promise<void> {
    if (valueBytes(value) <= INLINE_BYTES_MAX) return this.put({ ...entry, v: value });
    const ref = valueKey(entry.k);
    await this.#port.write({ key: ref, content: value, metadata: {} }, []);
    return this.put({ ...entry, ref });
  }

  #written(): Promise<void> {
    if (this.#current === null) return this.#start();
    const start = () => {
      this.#next = null;
      return this.#start();
    };
    this.#next ??= this.#current.then(start, start);
    return this.#next;
  }

  #start(): Promise<void> {
    this.#current = this.#flush().finally(() => {
      this.#current = null;
    });
    return this.#current;
  }

  async #flush(): Promise<void> {
    // Results that come in one turn share the write.
    await Promise.resolve();
    const news = this.#news.splice(0);
    const changes = this.#journal.changes();
    for (const write of changes) {
      await this.#port.write(write, write === changes.at(-1) ? news : []);
      this.#journal.written(write);
    }
  }
}

/** The segments of the run; a fresh run has none, and is not asked, unless its start gave checkpoints. */
export async function readSegments({ run, read, given }: StepPort): Promise<JsonValue[]> {
  const segments: JsonValue[] = [];
  for (let number = 0; ; number += 1) {
    const key = segmentKey(number);
    const known = given?.get(key);
    if (known === undefined && number === 0 && run.attempt <= 1 && run.firstCheckpoints === undefined)
      return segments;
    const content = known === undefined ? await read(key) : known;
    if (content === null) return segments;
    segments.push(content);
    if (!mayContinue(content, number)) return segments;
  }
}
