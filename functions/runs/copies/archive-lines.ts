import type { ArchiveLine } from '../../archives/chunk-writer.ts';
import { type HeadFormat, headLine } from '../../archives/line-reader.ts';
import { LineTally } from '../../archives/line-tally.ts';
import { canonicalJson } from '../../kernel/canonical-json.ts';
import { carriedBy } from '../../store/ownership.ts';
import type { Head, Listing, RecordData, RecordKey } from '../../store/port.ts';
import { uncounted } from '../../store/stored-size.ts';
import { executionCollections } from '../records.ts';
import type { Run } from '../run.ts';

/**
 * Runs as lines of canonical JSON: a head line, then every record in the order of its key, each artifact followed by its
 * bytes. The lines hold stored records, because a release reads the stored records of every earlier one.
 */
export const runsHead: HeadFormat = {
  format: 'svc.runs.snapshot',
  title: 'the name of the format of runs',
  version: 1,
};

/** The collections of runs that a copy carries, by their declarations. */
export const carriedRunCollections: readonly string[] = carriedBy('tenant', executionCollections).map(
  ({ name }) => name,
);

/** The selected runs: those of one tenant, one product or both; `null` for all. */
export interface RunsOf {
  readonly tenantId: string | null;
  readonly productId: string | null;
}

export function isAll({ tenantId, productId }: RunsOf): boolean {
  return tenantId === null && productId === null;
}

export function belongsTo({ scope }: Run, { tenantId, productId }: RunsOf): boolean {
  const isTenant = tenantId === null || scope?.tenantId === tenantId;
  return isTenant && (productId === null || scope?.productId === productId);
}

/** The run that a record belongs to. */
export function runIdOf({ key, head }: Pick<RecordData, 'key' | 'head'>): string {
  return String(key.collection === 'runs' ? head.id : head.runId);
}

/**
 * The bytes of an artifact in the blob store: the number of lines that hold them, or the fact that they were missing.
 */
export type BytesNote = { readonly pieces: number; readonly text: boolean } | { readonly missing: true };

/** A record of a run as a line shows it. */
export interface RecordEntry {
  readonly collection: string;
  readonly id: string;
  readonly head: Head;
  readonly body: string | null;
  readonly listing: Listing | null;
  readonly bytes: BytesNote | null;
}

/** A part of the bytes of the artifact before it. */
export interface PieceEntry {
  readonly collection: typeof BYTES;
  readonly id: string;
  readonly piece: number;
  readonly data: string;
}

export type RunEntry = RecordEntry | PieceEntry;

/** Not a collection: the name of the lines that hold bytes. */
export const BYTES = 'bytes';

export function isPiece(entry: RunEntry): entry is PieceEntry {
  return entry.collection === BYTES;
}

/** Base64 makes four characters of three bytes, so a line stays below 1.5 MiB. */
export const PIECE_BYTES = 1024 * 1024;

/** How many records of each kind, and how many artifacts with their bytes. */
export type RunCounts = Readonly<Record<string, number>>;

export const COUNTED: readonly string[] = [...carriedRunCollections, 'blobs', 'missingBlobs'].sort();

export function runsHeadLine({ tenantId, productId }: RunsOf): string {
  return headLine(runsHead, { tenantId, productId });
}

export function entryLine(entry: RunEntry): ArchiveLine<RunEntry> {
  return { line: `${canonicalJson(entry)}\n`, entry };
}

export function entryOf(record: RecordData, bytes: BytesNote | null): RecordEntry {
  const { key, head, body = null, listing = null } = record;
  return { collection: key.collection, id: key.id, head: uncounted(head), body, listing, bytes };
}

export function keyOfEntry({ collection, id }: RecordEntry): RecordKey {
  return { collection, id };
}

export class RunTally extends LineTally<RunEntry> {
  constructor() {
    super(COUNTED);
  }

  addEntry(entry: RunEntry | null): void {
    if (entry === null || isPiece(entry)) return;
    this.count(entry.collection);
    if (entry.bytes !== null) this.count('missing' in entry.bytes ? 'missingBlobs' : 'blobs');
  }
}
