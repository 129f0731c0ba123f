import { createHash } from 'node:crypto';
import type { Turns } from '../kernel/turns.ts';
import type { ArchiveLine, ArchiveTally } from './chunk-writer.ts';

/** At some 250 MB a second these take 2 ms. */
const HASHED_AT_ONCE_BYTES = 512 * 1024;

/** Hash, size and counts of a stream of lines, taken in line by line, or its text and its entries apart. */
export abstract class LineTally<Entry, Name extends string = string> implements ArchiveTally<Entry> {
  readonly #hash = createHash('sha256');
  readonly #counts: Map<Name, number>;
  #bytes = 0;

  constructor(names: readonly Name[]) {
    this.#counts = new Map(names.map((name) => [name, 0]));
  }

  abstract addEntry(entry: Entry | null): void;

  protected count(name: Name): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  add({ line, entry }: ArchiveLine<Entry>): void {
    this.addText(Buffer.from(line));
    this.addEntry(entry);
  }

  /** The same; of a line that is long, in parts. */
  async addInTurns({ line, entry }: ArchiveLine<Entry>, turns: Turns): Promise<void> {
    const bytes = Buffer.from(line);
    for (let at = 0; at < bytes.length; at += HASHED_AT_ONCE_BYTES) {
      if (turns.due()) await turns.next();
      this.addText(bytes.subarray(at, at + HASHED_AT_ONCE_BYTES));
    }
    this.addEntry(entry);
  }

  /** Many lines at once, if there are many: to hash each by itself takes five times as long. */
  addText(lines: Uint8Array): void {
    this.#hash.update(lines);
    this.#bytes += lines.byteLength;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get counts(): Readonly<Record<Name, number>> {
    return Object.fromEntries(this.#counts) as Record<Name, number>;
  }

  /** Of all lines so far; the tally continues. */
  contentHash(): string {
    return `sha256:${this.#hash.copy().digest('hex')}`;
  }
}
