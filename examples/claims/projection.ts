import { existsSync, readFileSync } from 'node:fs';
import { type FileHandle, open, truncate } from 'node:fs/promises';
import type { EventPayload } from './service.ts';

export interface Entry extends EventPayload {
  readonly eventId: string;
}

/**
 * A projection kept as a file of lines, one an event. Delivery is at least once, so it remembers which events it has
 * seen; a line is on the disk before its event is acknowledged, so none that was acknowledged is ever missing.
 */
export class Projection {
  readonly #file: FileHandle;
  readonly #seen: Set<string>;

  private constructor(file: FileHandle, seen: Set<string>) {
    this.#file = file;
    this.#seen = seen;
  }

  static async open(path: string): Promise<Projection> {
    const { entries, wholeBytes } = readEntries(path);
    // A line torn by a sudden end was never acknowledged: it is cut off, and its event comes again.
    if (existsSync(path)) await truncate(path, wholeBytes);
    return new Projection(await open(path, 'a'), new Set(entries.map((entry) => entry.eventId)));
  }

  get size(): number {
    return this.#seen.size;
  }

  /** Adds what is new, and returns once it is on the disk. */
  async add(entries: readonly Entry[]): Promise<void> {
    const fresh = entries.filter((entry) => !this.#seen.has(entry.eventId));
    if (fresh.length === 0) return;
    await this.#file.appendFile(fresh.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
    await this.#file.datasync();
    for (const entry of fresh) this.#seen.add(entry.eventId);
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}

/** The whole lines of the file, and how many bytes they take. */
export function readEntries(path: string): { entries: Entry[]; wholeBytes: number } {
  if (!existsSync(path)) return { entries: [], wholeBytes: 0 };
  const text = readFileSync(path, 'utf8');
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  const entries = whole.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Entry]));
  return { entries, wholeBytes: Buffer.byteLength(whole) };
}
