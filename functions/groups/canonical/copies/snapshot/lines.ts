import { createHash } from 'node:crypto';
import { limits } from '../../../../../contracts/generated/limits.ts';
import { count, members, pathName, same, text } from '../../../../archives/checks.ts';
import { placed, SnapshotError } from '../../../../archives/snapshot-error.ts';
import { CanonicalText, canonicalJson, type Json } from '../../../../kernel/canonical-json.ts';
import { invalidMember } from '../../../../kernel/errors.ts';
import { parseJson } from '../../../../kernel/json-text.ts';
import { parseStrictJsonText } from '../../../../kernel/strict-json.ts';
import { formatUtc } from '../../../../kernel/timestamp.ts';
import { finished, inTurns, type Turns, UNDISTURBED } from '../../../../kernel/turns.ts';
import { type RecordData, type RecordKey, StoreError } from '../../../../store/port.ts';
import { type EventState, readEvent } from '../../outbox/outbox-event.ts';
import { EVENTS } from '../../records.ts';
import { canonicalText } from './canonical-text.ts';
import { CrossCheck } from './cross-check.ts';
import { checkedValue, keyOf, type SnapshotValue, valueOf, valueText } from './record-values.ts';
import { sameTenant } from './values.ts';

/**
 * A tenant as lines of canonical JSON (RFC 8785): a head line, then every record in the order of its key. Keys are the same
 * on every provider and nothing in the lines shows when or where they were written, so one content has one stream, and
 * `contentHash`, the SHA-256 of that stream, names the content.
 */
export const SNAPSHOT_FORMAT = 'svc.canonical.snapshot';
export const SNAPSHOT_VERSION = 1;

/** A line with its line feed. The largest commit makes a receipt that stays below. */
export const LINE_BYTES_MAX = 16 * 1024 * 1024;

/** A line wraps the content of a commit in a few levels and members more than its request did. */
export const lineLimits = {
  depthMax: limits.restoreJsonDepthMax,
  membersMax: limits.jsonMembersMax * 2,
  containersMax: limits.restoreJsonContainersMax,
};

export type SnapshotCounts = Readonly<Record<SnapshotValue['collection'], number>>;

/** The moment of an export, at which overdue events have become dead letters and old ones are gone. */
export interface ExportMoment {
  readonly now: number;
  /** Whether an event is past its retention; without it none is. */
  readonly isGone?: (event: EventState) => boolean;
}

/** Records as a store scans them: whole, in the order of their keys. */
export type RecordPages = AsyncIterable<{ readonly records: readonly RecordData[] }>;

/** A record with its line, which ends in a line feed. */
export interface SnapshotLine {
  readonly line: string;
  /** `null` in the head line. */
  readonly entry: SnapshotValue | null;
}

export function headLine(tenantId: string): string {
  return `${canonicalJson({ format: SNAPSHOT_FORMAT, tenantId, version: SNAPSHOT_VERSION })}\n`;
}

export function recordLine(entry: SnapshotValue): string {
  return finished(recordLineInSteps(entry));
}

export function* recordLineInSteps(entry: SnapshotValue): Generator<void, string> {
  const value = new CanonicalText(yield* valueText(entry));
  return `${canonicalJson({ collection: entry.collection, id: keyOf(entry).id, value })}\n`;
}

/** The lines of a tenant in a store. Throws `StoreError` `corrupt` where the store breaks the contract of its port. */
export async function* snapshotLines(
  tenantId: string,
  pages: RecordPages,
  { now, isGone, turns = UNDISTURBED }: ExportMoment & { readonly turns?: Turns },
): AsyncGenerator<SnapshotLine, void, undefined> {
  const nowUtc = formatUtc(now);
  yield { line: headLine(tenantId), entry: null };
  let last: RecordKey | null = null;
  for await (const { records } of pages) {
    for (const record of records) {
      if (last !== null && compareKeys(last, record.key) >= 0) {
        throw new StoreError('corrupt', 'a scan gave records out of order');
      }
      last = record.key;
      if (record.key.collection === EVENTS.name && isGone?.(readEvent(record)) === true) continue;
      const entry = valueOf(tenantId, record, nowUtc);
      if (entry === undefined || keyOf(entry).id !== record.key.id) {
        throw new StoreError('corrupt', 'a record does not match its id');
      }
      yield { line: await inTurns(recordLineInSteps(entry), turns), entry };
    }
  }
}

/** By collection name, then record id; both are ASCII and compare alike everywhere. */
export function compareKeys(left: RecordKey, right: RecordKey): number {
  if (left.collection !== right.collection) return left.collection < right.collection ? -1 : 1;
  if (left.id === right.id) return 0;
  return left.id < right.id ? -1 : 1;
}

/** At some 250 MB a second these take 2 ms. */
const HASHED_AT_ONCE_BYTES = 512 * 1024;

/** What a stream of lines amounts to, taken in line by line, or its text and its records apart. */
export class LineTally {
  readonly #hash = createHash('sha256');
  readonly #counts = { commits: 0, documents: 0, events: 0, fences: 0 };
  #bytes = 0;

  add({ line, entry }: SnapshotLine): void {
    this.addText(Buffer.from(line));
    this.addEntry(entry);
  }

  /** The same; of a line that is long, in parts. */
  async addInTurns({ line, entry }: SnapshotLine, turns: Turns): Promise<void> {
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

  addEntry(entry: SnapshotValue | null): void {
    if (entry !== null) this.#counts[entry.collection] += 1;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get counts(): SnapshotCounts {
    return { ...this.#counts };
  }

  /** Of all lines so far; the tally continues. */
  contentHash(): string {
    return `sha256:${this.#hash.copy().digest('hex')}`;
  }
}

/**
 * Reads lines strictly: it refuses every line that this format would not have written, with its number, and at the end
 * records that contradict each other.
 */
export class LineReader {
  readonly #tenantId: string;
  readonly #parse: (line: string, number: number) => Json;
  readonly #together: CrossCheck | null;
  #line = 0;
  #last: RecordKey | null = null;

  /** `known`: the same lines were read to their end before, so how they are spelled, and that they agree, is known. */
  constructor(tenantId: string, known = false) {
    this.#tenantId = tenantId;
    this.#together = known ? null : new CrossCheck();
    this.#parse = known ? (line) => parseJson(line) as Json : parsedLine;
  }

  /** Takes the next line, without its line feed; returns its record, `null` for the head line. */
  read(line: string): SnapshotValue | null {
    this.#line += 1;
    const value = this.#parse(line, this.#line);
    return placed({ line: this.#line }, () => (this.#line === 1 ? this.#head(value) : this.#entry(value)));
  }

  /** To be called after the last line: throws where a record is missing or contradicts another. */
  end(): void {
    if (this.#line === 0) throw new SnapshotError('incomplete', 'the head line is missing', { line: 1 });
    this.#together?.end();
  }

  #head(value: Json): null {
    checkVersion(value);
    const head = members(value, ['format', 'tenantId', 'version'], '');
    pathName(head.tenantId, '/tenantId');
    sameTenant(head.tenantId, this.#tenantId, '/tenantId');
    return null;
  }

  #entry(value: Json): SnapshotValue {
    const given = members(value, ['collection', 'id', 'value'], '');
    const collection = text(given.collection, '/collection');
    const entry = checkedValue(this.#tenantId, collection, given.value, '/value');
    const key = keyOf(entry);
    same(given.id, key.id, 'the id of what the record names', '/id');
    const order = this.#last === null ? -1 : compareKeys(this.#last, key);
    const line = this.#line;
    if (order === 0) throw new SnapshotError('duplicate', 'repeats the record before it', { line });
    if (order > 0) throw new SnapshotError('order', 'stands behind a record that it must precede', { line });
    this.#last = key;
    this.#together?.add(entry, key.id, line);
    return entry;
  }
}

/** Before all else: of a newer version nothing else is known. */
function checkVersion(value: Json): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidMember('', 'must be the head of a snapshot');
  }
  const { format, version } = value as { readonly format?: unknown; readonly version?: unknown };
  same(format, SNAPSHOT_FORMAT, 'the name of the snapshot format', '/format');
  const given = count(version, 1, Number.MAX_SAFE_INTEGER, '/version');
  if (given > SNAPSHOT_VERSION) {
    throw new SnapshotError('newer_version', `is newer than version ${SNAPSHOT_VERSION}`, {
      line: 1,
      pointer: '/version',
    });
  }
}

/** A line is its value's one canonical text: anything else, if only a space more, would be a second name for it. */
function parsedLine(line: string, number: number): Json {
  // No text has more UTF-8 bytes than three for each of its units.
  if (line.length * 3 >= LINE_BYTES_MAX && Buffer.byteLength(line) >= LINE_BYTES_MAX) {
    throw new SnapshotError('over_limit', `is longer than ${LINE_BYTES_MAX} bytes`, { line: number });
  }
  const value = placed({ line: number }, () => parseStrictJsonText(line, lineLimits));
  if (canonicalText(value) !== line) {
    throw new SnapshotError('malformed', 'is not canonical JSON', { line: number });
  }
  return value;
}
