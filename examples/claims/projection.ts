import { existsSync, readFileSync } from 'node:fs';
import { type FileHandle, open, truncate } from 'node:fs/promises';
import type { EventPayload } from './service.ts';

export interface Entry extends EventPayload {
  readonly eventId: string;
}

/**
 * A projection in a file with one line per event. Delivery is at least once, so it remembers the events it has seen.
 * A line is on the disk before its event is acknowledged, so no acknowledged event is missing.
 */
export class Projection {
  readonly #file: FileHandle;
  readonly #seen: Set<string>;
  readonly #waiting: Entry[] = [];
  #flushing: Promise<void> = Promise.resolve();

  private constructor(file: FileHandle, seen: Set<string>) {
    this.#file = file;
    this.#seen = seen;
  }

  static async open(path: string): Promise<Projection> {
    const { entries, wholeBytes } = readEntries(path);
    // The event of an incomplete last line was never acknowledged: remove the line, and the event returns.
    if (existsSync(path)) await truncate(path, wholeBytes);
    return new Projection(await open(path, 'a'), new Set(entries.map((entry) => entry.eventId)));
  }

  get size(): number {
    return this.#seen.size;
  }

  /** Adds a new event and returns when it is on the disk. Concurrent calls share one flush. */
  add(entry: Entry): Promise<void> {
    this.#waiting.push(entry);
    this.#flushing = this.#flushing.then(() => this.#flush());
    return this.#flushing;
  }

  async #flush(): Promise<void> {
    const fresh = new Map<string, Entry>();
    for (const entry of this.#waiting.splice(0)) {
      if (!this.#seen.has(entry.eventId)) fresh.set(entry.eventId, entry);
    }
    if (fresh.size === 0) return;
    await this.#file.appendFile([...fresh.values()].map((entry) => `${JSON.stringify(entry)}\n`).join(''));
    await this.#file.datasync();
    for (const id of fresh.keys()) this.#seen.add(id);
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}

/** The complete lines of the file, and their size in bytes. */
export function readEntries(path: string): { entries: Entry[]; wholeBytes: number } {
  if (!existsSync(path)) return { entries: [], wholeBytes: 0 };
  const text = readFileSync(path, 'utf8');
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  const entries = whole.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Entry]));
  return { entries, wholeBytes: Buffer.byteLength(whole) };
}
