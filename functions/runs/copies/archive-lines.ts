import { createHash } from 'node:crypto';
import type { ArchiveLine, ArchiveTally } from '../../archives/chunk-writer.ts';
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
export const RUNS_FORMAT = 'svc.runs.snapshot';
export const RUNS_VERSION = 1;

/** The collections of runs that a copy carries, by their declarations. */
export const carriedRunCollections: readonly string[] = carriedBy('tenant', executionCollections).map(
  ({ name }) => name,
);

/** Whose runs: those of one tenant, one product or both; `null` for every one. */
export interface RunsOf {
  readonly tenantId: string | null;
  readonly productId: string | null;
}

export const ALL_RUNS: RunsOf = { tenantId: null, productId: null };

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

/** The bytes of an artifact that are in the blob store: how many lines hold them, or that they were gone. */
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

export function headLine({ tenantId, productId }: RunsOf): string {
  return `${canonicalJson({ format: RUNS_FORMAT, productId, tenantId, version: RUNS_VERSION })}\n`;
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

export class RunTally implements ArchiveTally<RunEntry> {
  readonly #hash = createHash('sha256');
  readonly #counts = new Map(COUNTED.map((name) => [name, 0]));

  addText(lines: Uint8Array): void {
    this.#hash.update(lines);
  }

  addEntry(entry: RunEntry | null): void {
    if (entry === null || isPiece(entry)) return;
    this.#add(entry.collection);
    if (entry.bytes !== null) this.#add('missing' in entry.bytes ? 'missingBlobs' : 'blobs');
  }

  #add(name: string): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  get counts(): RunCounts {
    return Object.fromEntries(this.#counts);
  }

  /** Of all lines so far; the tally continues. */
  contentHash(): string {
    return `sha256:${this.#hash.copy().digest('hex')}`;
  }
}
