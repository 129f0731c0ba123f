import { canonicalJson, type Json } from '../kernel/canonical-json.ts';
import { invalidMember } from '../kernel/errors.ts';
import type { RecordKey } from '../store/port.ts';
import { canonicalValue } from './canonical-value.ts';
import { count, type Members, members, same } from './checks.ts';
import type { LineChecks } from './entry-reader.ts';
import { placed, SnapshotError } from './snapshot-error.ts';

/** The head line names the format, its version, and the tenant or space that the lines belong to. */
export interface HeadFormat {
  readonly format: string;
  /** Name of the format in error messages. */
  readonly title: string;
  readonly version: number;
}

export function headLine({ format, version }: HeadFormat, own: Readonly<Record<string, Json>>): string {
  return `${canonicalJson({ format, version, ...own })}\n`;
}

/** The head, with exactly these members beside format and version. The version comes first: a newer head may have other members. */
export function checkedHead(
  { format, title, version }: HeadFormat,
  value: Json,
  own: readonly string[],
): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalidMember('', 'must be the head of a snapshot');
  const given = value as Members;
  same(given.format, format, title, '/format');
  if (count(given.version, 1, Number.MAX_SAFE_INTEGER, '/version') > version) {
    const place = { line: 1, pointer: '/version' };
    throw new SnapshotError('newer_version', `is newer than version ${version}`, place);
  }
  return members(value, ['format', 'version', ...own], '');
}

/** Parser and checks for the lines of one kind of archive. */
export interface LineFormat<Entry> {
  /** Parses a line. Default: the line must be canonical JSON. */
  readonly parse?: (line: string, number: number) => Json;
  /** Throws unless the head line fits the archive. */
  readonly checkHead: (value: Json) => void;
  /** The entry of a line with its key. The key is `null` if the entry belongs to the one before it. */
  readonly entryOf: (value: Json) => { readonly entry: Entry; readonly key: RecordKey | null };
  /** Called with each entry, once its order is checked. */
  readonly check?: (entry: Entry, key: RecordKey, line: number) => void;
  /** Called after the last line. Throws if an entry is missing or contradicts another. */
  readonly end?: () => void;
}

/** Reads lines strictly: it refuses each line that the writer of this format could not have written, and names its number. */
export class LineReader<Entry> implements LineChecks<Entry> {
  readonly #format: LineFormat<Entry>;
  #line = 0;
  #last: RecordKey | null = null;

  constructor(format: LineFormat<Entry>) {
    this.#format = format;
  }

  /** Reads the next line, given without its line feed. Returns its entry, or `null` for the head line. */
  read(line: string): Entry | null {
    this.#line += 1;
    const { parse } = this.#format;
    const value = parse === undefined ? canonicalValue(line, { line: this.#line }) : parse(line, this.#line);
    return placed({ line: this.#line }, () => {
      if (this.#line > 1) return this.#entry(value);
      this.#format.checkHead(value);
      return null;
    });
  }

  /** Call this after the last line. */
  end(): void {
    if (this.#line === 0) throw new SnapshotError('incomplete', 'the head line is missing', { line: 1 });
    this.#format.end?.();
  }

  #entry(value: Json): Entry {
    const { entry, key } = this.#format.entryOf(value);
    if (key === null) return entry;
    const order = this.#last === null ? -1 : compareKeys(this.#last, key);
    const line = this.#line;
    if (order === 0) throw new SnapshotError('duplicate', 'repeats the record before it', { line });
    if (order > 0) throw new SnapshotError('order', 'comes after a record that it must precede', { line });
    this.#last = key;
    this.#format.check?.(entry, key, line);
    return entry;
  }
}

/** By collection name, then record id; both are ASCII and compare alike everywhere. */
export function compareKeys(left: RecordKey, right: RecordKey): number {
  if (left.collection !== right.collection) return left.collection < right.collection ? -1 : 1;
  if (left.id === right.id) return 0;
  return left.id < right.id ? -1 : 1;
}
