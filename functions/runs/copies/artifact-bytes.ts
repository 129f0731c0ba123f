import { limits } from '../../../contracts/generated/limits.ts';
import { SnapshotError } from '../../archives/snapshot-error.ts';
import type { BlobStore } from '../../blobs/port.ts';
import { sha256 } from '../../kernel/canonical-json.ts';
import type { RecordData } from '../../store/port.ts';
import { artifactBlobKey, readArtifact, type StoredArtifact } from '../artifact.ts';
import type { BytesNote } from './archive-lines.ts';

/** The bytes of artifacts in the blob store: read for a copy, and put into the blob store of a restored deployment. */

export interface ReadBytes {
  readonly note: BytesNote | null;
  readonly bytes: Uint8Array | null;
}

const NONE: ReadBytes = { note: null, bytes: null };
const MISSING: ReadBytes = { note: { missing: true }, bytes: null };

/** Reads the bytes of an artifact that has them in the blob store. They are missing once a prune has removed the run. */
export async function readBytes(
  blobs: BlobStore | null,
  record: RecordData,
  pieceBytes: number,
): Promise<ReadBytes> {
  const artifact = readArtifact(record);
  if (!isOffloaded(artifact)) return NONE;
  if (blobs === null) return artifact.metadata.offloaded === 'true' ? MISSING : NONE;
  for (const text of [true, false]) {
    const key = artifactBlobKey(artifact.runId, artifact.id, text);
    if (blobs.uriOf(key) !== artifact.uri) continue;
    const blob = await blobs.get(key, limits.executionArtifactBytesMax);
    if (blob === null || sha256(blob.bytes) !== artifact.contentHash) return MISSING;
    const pieces = Math.max(1, Math.ceil(blob.bytes.byteLength / pieceBytes));
    return { note: { pieces, text }, bytes: blob.bytes };
  }
  return artifact.metadata.offloaded === 'true' ? MISSING : NONE;
}

/** Without text and content, an artifact with an address has its bytes there, or is a mere link to elsewhere. */
function isOffloaded({ text, content, uri }: StoredArtifact): boolean {
  return uri !== null && text === null && content === null;
}

/** Throws unless the bytes are those that the artifact names. */
export function checkBytes(record: RecordData, bytes: Uint8Array): void {
  const { contentHash, sizeBytes } = readArtifact(record);
  if (bytes.byteLength !== sizeBytes || sha256(bytes) !== contentHash)
    throw new SnapshotError('hash_mismatch', 'the bytes of an artifact are not those that its record names');
}

/** Puts the bytes where the restored deployment keeps them, and returns the record that names them there. */
export async function putBytes(
  blobs: BlobStore | null,
  record: RecordData,
  { bytes, text }: { readonly bytes: Uint8Array; readonly text: boolean },
): Promise<RecordData> {
  if (blobs === null) {
    const detail = 'holds artifacts whose bytes need a blob store, and this deployment has none';
    throw new SnapshotError('invalid', `the archive ${detail}`);
  }
  const artifact = readArtifact(record);
  const key = artifactBlobKey(artifact.runId, artifact.id, text);
  await blobs.put(key, bytes, {
    contentType: text ? 'text/plain; charset=utf-8' : 'application/json',
    sha256: artifact.contentHash,
    metadata: { 'execution-run-id': artifact.runId, 'execution-artifact-id': artifact.id },
  });
  const { metadata, content } = artifact;
  const storage = metadata.storage === undefined ? metadata : { ...metadata, storage: blobs.provider };
  const body = JSON.stringify({ text: null, content, uri: blobs.uriOf(key), metadata: storage });
  return { ...record, body };
}
