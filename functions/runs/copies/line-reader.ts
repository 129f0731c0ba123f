import { count, flag, members, nullOr, same, text } from '../../archives/checks.ts';
import { checkedHead, type LineFormat } from '../../archives/line-reader.ts';
import { SnapshotError } from '../../archives/snapshot-error.ts';
import { bodyValue, headFrom, idFrom, listingFrom } from '../../archives/stored-record.ts';
import type { Json } from '../../kernel/canonical-json.ts';
import { invalidMember } from '../../kernel/errors.ts';
import { type Head, type RecordData, StoreError } from '../../store/port.ts';
import { artifactKey, checkpointKey, readRun, runKey, timerRecordKey } from '../records.ts';
import type { Run } from '../run.ts';
import {
  BYTES,
  type BytesNote,
  belongsTo,
  carriedRunCollections,
  isPiece,
  keyOfEntry,
  PIECE_BYTES,
  type RecordEntry,
  type RunEntry,
  type RunsOf,
  runIdOf,
  runsHead,
} from './archive-lines.ts';

const ORDERED_ID = /^[0-9]{20}$/;
const PIECES_MAX = 4_096;
/** Twice the record limit of the database with the smallest one. */
const BODY_LENGTH_MAX = 2 * 1024 * 1024;

/** How the lines of an archive of runs are read. */
export function runsFormat(of: RunsOf): LineFormat<RunEntry> {
  return {
    checkHead: (value) => {
      const given = checkedHead(runsHead, value, ['productId', 'tenantId']);
      for (const name of ['productId', 'tenantId'] as const)
        same(given[name], of[name], 'that of the manifest', `/${name}`);
    },
    entryOf: (value) => {
      const entry = entryFrom(value);
      return { entry, key: isPiece(entry) ? null : keyOfEntry(entry) };
    },
    check: (entry, _, line) => {
      if (isPiece(entry) || entry.collection !== 'runs') return;
      if (!belongsTo(archivedRun(recordOfEntry(entry)), of))
        throw new SnapshotError('other_tenant', 'is a run of another tenant or product', { line });
    },
  };
}

function entryFrom(value: Json): RunEntry {
  if ((value as { readonly collection?: unknown } | null)?.collection === BYTES) return pieceFrom(value);
  const given = members(value, ['body', 'bytes', 'collection', 'head', 'id', 'listing'], '');
  const collection = text(given.collection, '/collection');
  if (!carriedRunCollections.includes(collection))
    throw invalidMember('/collection', 'names no collection that a copy of runs carries');
  const entry: RecordEntry = {
    collection,
    id: idFrom(given.id),
    head: headFrom(given.head),
    body: nullOr(text, given.body, '/body'),
    listing: nullOr(listingFrom, given.listing, '/listing'),
    bytes: nullOr(noteFrom, given.bytes, '/bytes'),
  };
  if (entry.bytes !== null && collection !== 'artifacts')
    throw invalidMember('/bytes', 'belong to no artifact');
  checkRecord(entry);
  return entry;
}

function pieceFrom(value: Json): RunEntry {
  const given = members(value, ['collection', 'data', 'id', 'piece'], '');
  const data = text(given.data, '/data');
  if (data.length > (PIECE_BYTES / 3 + 1) * 4) throw invalidMember('/data', 'is too long', 'limit_exceeded');
  if (Buffer.from(data, 'base64').toString('base64') !== data) throw invalidMember('/data', 'must be Base64');
  return {
    collection: BYTES,
    id: idFrom(given.id),
    piece: count(given.piece, 0, PIECES_MAX, '/piece'),
    data,
  };
}

function noteFrom(value: unknown, pointer: string): BytesNote {
  if (typeof value === 'object' && value !== null && 'missing' in value) {
    same(members(value, ['missing'], pointer).missing, true, 'true', `${pointer}/missing`);
    return { missing: true };
  }
  const given = members(value, ['pieces', 'text'], pointer);
  return {
    pieces: count(given.pieces, 1, PIECES_MAX, `${pointer}/pieces`),
    text: flag(given.text, `${pointer}/text`),
  };
}

/**
 * The record's id must be the one that its content names, and the record must belong to a run. Some ids are known to
 * the run alone; these are not compared.
 */
function checkRecord(entry: RecordEntry): void {
  const { collection, head, body, id } = entry;
  const runId = runIdOf(recordOfEntry(entry));
  if (!ORDERED_ID.test(runId)) throw invalidMember('/head', 'names no run');
  checkBody(body);
  const named = keyNamed(collection, runId, head);
  if (named !== null && named !== id) throw invalidMember('/id', 'must be the id of what the record names');
  if (collection === 'runs') archivedRun(recordOfEntry(entry));
}

function checkBody(body: string | null): void {
  if (body === null) return;
  if (body.length > BODY_LENGTH_MAX) throw invalidMember('/body', 'is too long', 'limit_exceeded');
  // Handlers may end a text within a character.
  bodyValue(body, { keepsHalfCharacters: true });
}

function keyNamed(collection: string, runId: string, head: Head): string | null {
  switch (collection) {
    case 'artifacts':
      return artifactKey(runId, String(head.id)).id;
    case 'checkpoints':
      return checkpointKey(runId, String(head.key)).id;
    case 'timers':
      return timerRecordKey(runId, String(head.id)).id;
    default:
      return null;
  }
}

export function recordOfEntry(entry: RecordEntry): RecordData {
  const { head, body, listing } = entry;
  return { key: keyOfEntry(entry), head, body, listing };
}

/** The run of an archived record. Throws a `SnapshotError` if the record is no run. */
export function archivedRun(record: RecordData): Run {
  try {
    const run = readRun(record, String(record.head.id));
    if (runKey(run.id).id === record.key.id && hasShape(run)) return run;
  } catch (error) {
    if (!(error instanceof StoreError) && !(error instanceof SyntaxError)) throw error;
  }
  throw new SnapshotError('invalid', 'holds no run');
}

const STATUSES: ReadonlySet<string> = new Set([
  'queued',
  'running',
  'waiting',
  'succeeded',
  'failed',
  'cancelled',
  'rejected',
  'timed_out',
]);

/** The members by which a run is found and settled: without them it would be stored and never seen again. */
function hasShape(run: Run): boolean {
  const texts = [run.handlerId, run.correlationId, run.payloadHash, run.lastSequenceId];
  const lists = [run.outcomes, run.inbox, run.trace];
  const objects = [run.tags, run.retryPolicy, run.payload, run.result];
  return (
    STATUSES.has(run.status) &&
    texts.every((each) => typeof each === 'string') &&
    lists.every((each) => Array.isArray(each)) &&
    objects.every((each) => typeof each === 'object' && each !== null) &&
    [run.attempt, run.createdAt, run.updatedAt].every((each) => Number.isSafeInteger(each))
  );
}
