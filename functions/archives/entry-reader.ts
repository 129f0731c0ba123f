import { canonicalJson } from '../kernel/canonical-json.ts';
import { type ArchiveChunk, chunkName, MANIFEST_NAME } from './chunk-list.ts';
import type { ChunkSource } from './chunk-objects.ts';
import { linesOf, readChunks } from './chunk-reader.ts';
import type { ArchiveTally } from './chunk-writer.ts';
import { SnapshotError } from './snapshot-error.ts';

/** The members of a manifest that describe its lines. */
export interface LinesManifest {
  readonly chunks: readonly ArchiveChunk[];
  readonly counts: Readonly<Record<string, number>>;
  /** SHA-256 of the lines of all chunks. */
  readonly snapshotContentHash: string;
}

export interface LineChecks<Entry> {
  /** Reads the next line, given without its line feed. Returns its entry, or `null` for the head line. */
  read(line: string): Entry | null;
  /** Called after the last line. */
  end(): void;
}

/** The entries of all lines in their order. Throws a `SnapshotError` at the first flaw. */
export async function* readEntries<Entry>(
  manifest: LinesManifest,
  source: ChunkSource,
  checks: LineChecks<Entry>,
  tally: ArchiveTally<Entry>,
): AsyncGenerator<Entry, void, undefined> {
  for await (const { chunk, content } of readChunks(manifest.chunks, source)) {
    const object = chunkName(chunk.index);
    let records = 0;
    for (const line of linesOf(content, object)) {
      const entry = checks.read(line);
      tally.addEntry(entry);
      if (entry === null) continue;
      records += 1;
      yield entry;
    }
    tally.addText(content);
    if (records !== chunk.records)
      throw new SnapshotError('invalid', 'holds another number of records than the manifest says', {
        object,
      });
  }
  checks.end();
}

/** Throws unless hash and counts of the lines equal those of the manifest. */
export function checkTotals(
  { counts, snapshotContentHash }: LinesManifest,
  tally: { readonly counts: Readonly<Record<string, number>>; contentHash(): string },
): void {
  if (tally.contentHash() !== snapshotContentHash) {
    const place = { object: MANIFEST_NAME, pointer: '/snapshotContentHash' };
    throw new SnapshotError('hash_mismatch', 'is not the hash of the lines', place);
  }
  if (canonicalJson(tally.counts) !== canonicalJson(counts)) {
    const place = { object: MANIFEST_NAME, pointer: '/counts' };
    throw new SnapshotError('invalid', 'differs from the number of records in the lines', place);
  }
}
