import { canonicalJson, type Json } from '../kernel/canonical-json.ts';
import { invalidMember } from '../kernel/errors.ts';
import type { RecordKey } from '../store/port.ts';
import { canonicalValue } from './canonical-value.ts';
import { count, type Members, members, same } from './checks.ts';
import type { LineChecks } from './entry-reader.ts';
import { placed, SnapshotError } from './snapshot-error.ts';

/** The head line names the format, its version, and whose data the lines are. */
export interface HeadFormat {
  readonly format: string;
  /** The format in a refusal. */
  readonly title: string;
  readonly version: number;
}

export function headLine({ format, version }: HeadFormat, own: Readonly<Record<string, Json>>): string {
  return `${canonicalJson({ format, version, ...own })}\n`;
}

/** The head with exactly these members beside its format and version, which are checked first: of a newer one nothing else is known. */
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

/** How the lines of one kind of archive are read. */
export interface LineFormat<Entry> {
  /** A line as its value; without it, its one canonical text. */
  readonly parse?: (line: string, number: number) => Json;
  /** Throws where the head line is not that of these lines. */
  readonly checkHead: (value: Json) => void;
  /** The entry of a line with its key; `null` for an entry that belongs to the one before it. */
  readonly entryOf: (value: Json) => { readonly entry: Entry; readonly key: RecordKey | null };
  /** Called with each entry that stands in its order. */
  readonly check?: (entry: Entry, key: RecordKey, line: number) => void;
  /** Called after the last line: throws where an entry is missing or contradicts another. */
  readonly end?: () => void;
}

/** Reads lines strictly: it refuses every line that the format would not have written, with its number. */
export class LineReader<Entry> implements LineChecks<Entry> {
  readonly #format: LineFormat<Entry>;
  #line = 0;
  #last: RecordKey | null = null;

  constructor(format: LineFormat<Entry>) {
    this.#format = format;
  }

  /** Takes the next line, without its line feed; returns its entry, `null` for the head line. */
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

  /** To be called after the last line. */
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
    if (order > 0) throw new SnapshotError('order', 'stands behind a record that it must precede', { line });
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
