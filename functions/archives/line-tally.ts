import { createHash } from 'node:crypto';
import type { Turns } from '../kernel/turns.ts';
import type { ArchiveLine, ArchiveTally } from './chunk-writer.ts';

/** SHA-256 of so many bytes takes 2 ms, at some 250 MB a second. */
const HASHED_AT_ONCE_BYTES = 512 * 1024;

/** Hash, size and counts of a stream of lines. Takes whole lines, or the text and the entries separately. */
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

  /** Adds a line; a long line is hashed in parts, with turns for other work between them. */
  async addInTurns({ line, entry }: ArchiveLine<Entry>, turns: Turns): Promise<void> {
    const bytes = Buffer.from(line);
    for (let at = 0; at < bytes.length; at += HASHED_AT_ONCE_BYTES) {
      if (turns.due()) await turns.next();
      this.addText(bytes.subarray(at, at + HASHED_AT_ONCE_BYTES));
    }
    this.addEntry(entry);
  }

  /** Adds the text of many lines in one call: hashing each line by itself takes five times as long. */
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

  /** The hash of all lines so far. More lines may follow. */
  contentHash(): string {
    return `sha256:${this.#hash.copy().digest('hex')}`;
  }
}
