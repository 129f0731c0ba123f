import { limits } from '../../../../../contracts/generated/limits.ts';
import { members, pathName, same, text } from '../../../../archives/checks.ts';
import type { ArchiveLine } from '../../../../archives/chunk-writer.ts';
import {
  checkedHead,
  compareKeys,
  type HeadFormat,
  headLine,
  type LineFormat,
  LineReader,
} from '../../../../archives/line-reader.ts';
import { LineTally } from '../../../../archives/line-tally.ts';
import { placed, SnapshotError } from '../../../../archives/snapshot-error.ts';
import { CanonicalText, canonicalJson, type Json } from '../../../../kernel/canonical-json.ts';
import { parseJson } from '../../../../kernel/json-text.ts';
import { parseStrictJsonText } from '../../../../kernel/strict-json.ts';
import { formatUtc } from '../../../../kernel/timestamp.ts';
import { inTurns, type Turns, UNDISTURBED } from '../../../../kernel/turns.ts';
import { type RecordData, type RecordKey, StoreError } from '../../../../store/port.ts';
import { type EventState, readEvent } from '../../outbox/outbox-event.ts';
import { EVENTS } from '../../records.ts';
import { canonicalText } from './canonical-text.ts';
import { CrossCheck } from './cross-check.ts';
import { checkedValue, keyOf, type SnapshotValue, valueOf, valueText } from './record-values.ts';
import { sameTenant } from './values.ts';

/**
 * A tenant as lines of canonical JSON (RFC 8785): a head line, then all records in the order of their keys. Keys are the same on
 * every provider, and the lines hold neither time nor place of the export. So equal content gives an equal stream, and `contentHash`,
 * its SHA-256, identifies the content.
 */
const snapshotHead: HeadFormat = {
  format: 'svc.canonical.snapshot',
  title: 'the name of the snapshot format',
  version: 1,
};

/** The most bytes of a line with its line feed. The receipt of the largest commit has fewer. */
const LINE_BYTES_MAX = 16 * 1024 * 1024;

/** A line has a few more levels and members than the request of the commit. */
export const lineLimits = {
  depthMax: limits.restoreJsonDepthMax,
  membersMax: limits.jsonMembersMax * 2,
  containersMax: limits.restoreJsonContainersMax,
};

export type SnapshotCounts = Readonly<Record<SnapshotValue['collection'], number>>;

/** The time of an export, at which overdue events become dead letters and expired events are left out. */
export interface ExportMoment {
  readonly now: number;
  /** Whether an event is past its retention. Default: events do not expire. */
  readonly isGone?: (event: EventState) => boolean;
}

/** Pages of a scan: whole records, in the order of their keys. */
export type RecordPages = AsyncIterable<{ readonly records: readonly RecordData[] }>;

export type SnapshotLine = ArchiveLine<SnapshotValue>;

export function snapshotHeadLine(tenantId: string): string {
  return headLine(snapshotHead, { tenantId });
}

export function* recordLineInSteps(entry: SnapshotValue): Generator<void, string> {
  const value = new CanonicalText(yield* valueText(entry));
  return `${canonicalJson({ collection: entry.collection, id: keyOf(entry).id, value })}\n`;
}

/** The lines of a tenant in a store. Throws `StoreError` `corrupt` if the store breaks the contract of its port. */
export async function* snapshotLines(
  tenantId: string,
  pages: RecordPages,
  { now, isGone, turns = UNDISTURBED }: ExportMoment & { readonly turns?: Turns },
): AsyncGenerator<SnapshotLine, void, undefined> {
  const nowUtc = formatUtc(now);
  yield { line: snapshotHeadLine(tenantId), entry: null };
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

export class SnapshotTally extends LineTally<SnapshotValue, SnapshotValue['collection']> {
  constructor() {
    super(['commits', 'documents', 'events', 'fences']);
  }

  addEntry(entry: SnapshotValue | null): void {
    if (entry !== null) this.count(entry.collection);
  }
}

/**
 * Reads the lines of a tenant, and checks at the end that no record contradicts another. `known`: the same lines passed these checks
 * before, so the reader skips the checks of spelling and agreement.
 */
export class SnapshotLineReader extends LineReader<SnapshotValue> {
  constructor(tenantId: string, known = false) {
    super(
      known ? { ...formatOf(tenantId), parse: (line) => parseJson(line) as Json } : checkedFormat(tenantId),
    );
  }
}

function checkedFormat(tenantId: string): LineFormat<SnapshotValue> {
  const together = new CrossCheck();
  return {
    ...formatOf(tenantId),
    parse: parsedLine,
    check: (entry, { id }, line) => together.add(entry, id, line),
    end: () => together.end(),
  };
}

function formatOf(tenantId: string): LineFormat<SnapshotValue> {
  return {
    checkHead: (value) => {
      const head = checkedHead(snapshotHead, value, ['tenantId']);
      pathName(head.tenantId, '/tenantId');
      sameTenant(head.tenantId, tenantId, '/tenantId');
    },
    entryOf: (value) => {
      const given = members(value, ['collection', 'id', 'value'], '');
      const collection = text(given.collection, '/collection');
      const entry = checkedValue(tenantId, collection, given.value, '/value');
      const key = keyOf(entry);
      same(given.id, key.id, 'the id of what the record names', '/id');
      return { entry, key };
    },
  };
}

/** Parses a line, which must be canonical JSON: with a second spelling, equal content would have two hashes. */
function parsedLine(line: string, number: number): Json {
  // A UTF-16 unit takes at most three bytes in UTF-8, so most lines need no exact count.
  if (line.length * 3 >= LINE_BYTES_MAX && Buffer.byteLength(line) >= LINE_BYTES_MAX) {
    throw new SnapshotError('over_limit', `is longer than ${LINE_BYTES_MAX} bytes`, { line: number });
  }
  const value = placed({ line: number }, () => parseStrictJsonText(line, lineLimits));
  if (canonicalText(value) !== line) {
    throw new SnapshotError('malformed', 'is not canonical JSON', { line: number });
  }
  return value;
}
