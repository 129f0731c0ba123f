import type { ChunkSink } from '../../archives/chunk-objects.ts';
import type { ArchiveLine } from '../../archives/chunk-writer.ts';
import { writeArchive } from '../../archives/write-archive.ts';
import type { BlobStore } from '../../blobs/port.ts';
import { listPages, recordsOf } from '../../store/pages.ts';
import type { RecordData } from '../../store/port.ts';
import { ARTIFACTS, RUN_GROUP, RUNS, readRun } from '../records.ts';
import type { Runtime } from '../runtime.ts';
import {
  BYTES,
  belongsTo,
  carriedRunCollections,
  entryLine,
  entryOf,
  isAll,
  isPiece,
  PIECE_BYTES,
  type RunEntry,
  type RunsOf,
  RunTally,
  runIdOf,
  runsHeadLine,
} from './archive-lines.ts';
import { RUNS_PROFILE, type RunsManifest } from './archive-manifest.ts';
import { readBytes } from './artifact-bytes.ts';

/** The parts of the run engine that a copy of runs needs. */
export type CopyRuntime = Pick<Runtime, 'store' | 'scope' | 'blobs'>;

interface RunsProgress {
  readonly step: string;
  readonly records: number;
  readonly recordsTotal: number | null;
}

export interface RunsCopyOptions {
  /** Called after every record. */
  readonly onProgress?: (progress: RunsProgress) => void;
  /** Ends the copy between two records, with its reason. */
  readonly signal?: AbortSignal;
}

export interface RunsExportOptions extends RunsCopyOptions {
  /** Bytes of the lines of a chunk, before compression. */
  readonly chunkBytes?: number;
}

const PAGE = 200;

/** Writes the runs as of one moment of the store, and the manifest last: an interrupted archive has none. */
export async function exportRuns(
  runtime: CopyRuntime,
  of: RunsOf,
  sink: ChunkSink,
  { chunkBytes, ...options }: RunsExportOptions = {},
): Promise<RunsManifest> {
  const { tenantId, productId } = of;
  const lines = reported(runLines(runtime, of), 'exporting', options);
  return writeArchive(
    { profile: RUNS_PROFILE, tenantId, productId },
    lines,
    sink,
    new RunTally(),
    chunkBytes,
  );
}

/** Counts and hash of the runs, as an export of this moment would have them. */
export async function tallyRuns(
  runtime: CopyRuntime,
  of: RunsOf,
  options: RunsCopyOptions = {},
): Promise<RunTally> {
  const tally = new RunTally();
  for await (const { line, entry } of reported(runLines(runtime, of), 'counting runs', options)) {
    tally.add({ line, entry });
  }
  return tally;
}

async function* runLines(
  runtime: CopyRuntime,
  of: RunsOf,
): AsyncGenerator<ArchiveLine<RunEntry>, void, undefined> {
  const store = await runtime.store();
  const blobs = (await runtime.blobs?.()) ?? null;
  const chosen = isAll(of) ? null : await idsOf(runtime, of);
  yield { line: runsHeadLine(of), entry: null };
  const pages = store.scan(runtime.scope, { collections: carriedRunCollections, pageSize: PAGE });
  for await (const { records } of pages) {
    for (const record of records) {
      if (chosen !== null && !chosen.has(runIdOf(record))) continue;
      yield* linesOf(record, blobs);
    }
  }
}

/** The scan meets the records of a run before the run itself, so a selection reads the runs first. */
async function idsOf({ store: open, scope }: CopyRuntime, of: RunsOf): Promise<ReadonlySet<string>> {
  const store = await open();
  const ids = new Set<string>();
  const pages = listPages(store, scope, { collection: RUNS, group: RUN_GROUP, limit: PAGE });
  for await (const record of recordsOf(pages)) {
    const run = readRun(record);
    if (belongsTo(run, of)) ids.add(run.id);
  }
  return ids;
}

async function* linesOf(
  record: RecordData,
  blobs: BlobStore | null,
): AsyncGenerator<ArchiveLine<RunEntry>, void, undefined> {
  if (record.key.collection !== ARTIFACTS.name) {
    yield entryLine(entryOf(record, null));
    return;
  }
  const { note, bytes } = await readBytes(blobs, record, PIECE_BYTES);
  yield entryLine(entryOf(record, note));
  if (note === null || bytes === null || !('pieces' in note)) return;
  for (let piece = 0; piece < note.pieces; piece += 1) {
    const part = bytes.subarray(piece * PIECE_BYTES, (piece + 1) * PIECE_BYTES);
    const data = Buffer.from(part).toString('base64');
    yield entryLine({ collection: BYTES, id: record.key.id, piece, data });
  }
}

async function* reported(
  lines: AsyncIterable<ArchiveLine<RunEntry>>,
  step: string,
  { onProgress, signal }: RunsCopyOptions,
): AsyncGenerator<ArchiveLine<RunEntry>, void, undefined> {
  let records = 0;
  for await (const line of lines) {
    signal?.throwIfAborted();
    if (line.entry !== null && !isPiece(line.entry))
      onProgress?.({ step, records: ++records, recordsTotal: null });
    yield line;
  }
}
