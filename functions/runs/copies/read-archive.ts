import { limits } from '../../../contracts/generated/limits.ts';
import type { ChunkSource } from '../../archives/chunk-objects.ts';
import { checkTotals, readEntries } from '../../archives/entry-reader.ts';
import { LineReader } from '../../archives/line-reader.ts';
import { SnapshotError } from '../../archives/snapshot-error.ts';
import { ByteBlocks } from '../../kernel/byte-blocks.ts';
import type { RecordData } from '../../store/port.ts';
import { isPiece, type RecordEntry, RunTally } from './archive-lines.ts';
import type { RunsManifest } from './archive-manifest.ts';
import { checkBytes } from './artifact-bytes.ts';
import { recordOfEntry, runsFormat } from './line-reader.ts';

/** A record of the archive; an artifact with its bytes, where the archive holds them. */
export interface ArchivedRecord {
  readonly record: RecordData;
  readonly blob: { readonly bytes: Uint8Array; readonly text: boolean } | null;
}

/** The records of the archive in their order, each checked. Throws a `SnapshotError` at the first flaw, at the latest at the end. */
export async function* readRecords(
  manifest: RunsManifest,
  source: ChunkSource,
): AsyncGenerator<ArchivedRecord, void, undefined> {
  const tally = new RunTally();
  let open: Assembly | null = null;
  const reader = new LineReader(runsFormat(manifest));
  for await (const entry of readEntries(manifest, source, reader, tally)) {
    if (isPiece(entry)) {
      if (open === null || open.entry.id !== entry.id || open.pieces !== entry.piece)
        throw new SnapshotError('order', 'bytes do not follow their artifact');
      const piece = Buffer.from(entry.data, 'base64');
      open.bytes.add(piece);
      open.pieces += 1;
      if (open.bytes.size > limits.executionArtifactBytesMax)
        throw new SnapshotError('over_limit', 'the bytes of an artifact are more than one may have');
    } else {
      assertWhole(open);
      open = { entry, bytes: new ByteBlocks(), pieces: 0, wanted: piecesOf(entry) };
    }
    if (open.pieces < open.wanted) continue;
    yield assembled(open);
    open = null;
  }
  assertWhole(open);
  checkTotals(manifest, tally);
}

interface Assembly {
  readonly entry: RecordEntry;
  readonly bytes: ByteBlocks;
  /** The number of lines read so far. */
  pieces: number;
  readonly wanted: number;
}

function piecesOf({ bytes }: RecordEntry): number {
  return bytes !== null && 'pieces' in bytes ? bytes.pieces : 0;
}

function assertWhole(open: Assembly | null): void {
  if (open !== null) throw new SnapshotError('incomplete', 'the bytes of an artifact are cut short');
}

function assembled({ entry, bytes: blocks }: Assembly): ArchivedRecord {
  const record = recordOfEntry(entry);
  const { bytes: note } = entry;
  if (note === null || !('pieces' in note)) return { record, blob: null };
  const bytes = blocks.take();
  checkBytes(record, bytes);
  return { record, blob: { bytes, text: note.text } };
}
