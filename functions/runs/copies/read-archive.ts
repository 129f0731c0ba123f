import { limits } from '../../../contracts/generated/limits.ts';
import { MANIFEST_BYTES_MAX, MANIFEST_NAME } from '../../archives/chunk-list.ts';
import type { ChunkSource } from '../../archives/chunk-objects.ts';
import { checkNames } from '../../archives/chunk-reader.ts';
import { checkTotals, readEntries } from '../../archives/entry-reader.ts';
import { SnapshotError } from '../../archives/snapshot-error.ts';
import { ByteBlocks } from '../../kernel/byte-blocks.ts';
import type { RecordData } from '../../store/port.ts';
import { isPiece, type RecordEntry, RunTally } from './archive-lines.ts';
import { type RunsManifest, readManifest } from './archive-manifest.ts';
import { checkBytes } from './artifact-bytes.ts';
import { LineReader, recordOfEntry } from './line-reader.ts';

/** A record of the archive; an artifact with its bytes, where the archive holds them. */
export interface ArchivedRecord {
  readonly record: RecordData;
  readonly blob: { readonly bytes: Uint8Array; readonly text: boolean } | null;
}

/** Reads the manifest and checks that the archive has exactly its objects. Throws a `SnapshotError`. */
export async function openRunsArchive(
  source: ChunkSource,
  expectedContentHash?: string,
): Promise<RunsManifest> {
  const bytes = await source.read(MANIFEST_NAME, MANIFEST_BYTES_MAX);
  if (bytes === null) throw new SnapshotError('incomplete', 'is missing', { object: MANIFEST_NAME });
  const manifest = readManifest(bytes);
  if (expectedContentHash !== undefined && expectedContentHash !== manifest.contentHash) {
    const place = { object: MANIFEST_NAME, pointer: '/contentHash' };
    throw new SnapshotError('hash_mismatch', 'is not the archive that was expected', place);
  }
  checkNames(manifest.chunks, await source.names());
  return manifest;
}

/** The records of the archive in their order, each checked. Throws a `SnapshotError` at the first flaw, at the latest at the end. */
export async function* readRecords(
  manifest: RunsManifest,
  source: ChunkSource,
): AsyncGenerator<ArchivedRecord, void, undefined> {
  const tally = new RunTally();
  let open: Assembly | null = null;
  for await (const entry of readEntries(manifest, source, new LineReader(manifest), tally)) {
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
  /** How many have come. */
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
