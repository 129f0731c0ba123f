import { limits } from '../../contracts/generated/limits.ts';
import { BlobError, type BlobFailure } from '../blobs/port.ts';
import { canonicalJson, type Json, sha256 } from '../kernel/canonical-json.ts';
import { invalidMember } from '../kernel/errors.ts';
import { parseJson } from '../kernel/json-text.ts';
import { type RecordData, StoreError, type StoreFailure } from '../store/port.ts';
import { uncounted } from '../store/stored-size.ts';
import { artifactKey } from './records.ts';
import type { Runtime } from './runtime.ts';

export interface ArtifactWrite {
  readonly name: string;
  readonly kind: string;
  readonly mediaType: string | null;
  readonly text: string | null;
  /** `undefined` without content: `null` is content. */
  readonly content: Json | undefined;
  readonly uri: string | null;
  readonly metadata: Readonly<Record<string, string>>;
}

export interface CheckedArtifact extends ArtifactWrite {
  /** The canonical text of the content; `null` without content. */
  readonly contentText: string | null;
}

export interface StoredArtifact {
  readonly id: string;
  readonly runId: string;
  readonly name: string;
  readonly kind: string;
  readonly mediaType: string | null;
  readonly contentHash: string;
  readonly sizeBytes: number;
  readonly text: string | null;
  readonly content: Json;
  readonly uri: string | null;
  readonly createdAt: number;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Metadata of an artifact whose bytes are in the blob store. Callers see it like their own metadata. */
const OFFLOADED = { offloaded: 'true', inline: 'false' } as const;

/** Prefix of all artifact bytes in the blob store. Each run has a folder. */
export const ARTIFACTS_PREFIX = 'artifacts/';

/** Prefix of the bytes of one run's artifacts, so that they can be removed with the run. */
export function artifactPrefix(runId: string): string {
  return `${ARTIFACTS_PREFIX}${runId}/`;
}

export function artifactBlobKey(runId: string, artifactId: string, text: boolean): string {
  return `${artifactPrefix(runId)}${artifactId}.${text ? 'txt' : 'json'}`;
}

export interface PreparedArtifact {
  readonly record: RecordData;
  readonly artifact: StoredArtifact;
}

/**
 * Prepares an artifact: small ones stay inline, the bytes of larger ones go to the blob store first. Throws
 * `limit_exceeded` for one over the size limit, or over the inline size without a blob store, and what `judge` throws of bytes
 * that would go to the blob store.
 */
export async function artifactRecord(
  runtime: Runtime,
  runId: string,
  id: string,
  write: CheckedArtifact,
  { now, judge }: { readonly now: number; readonly judge: (bytes: number) => Promise<void> },
): Promise<PreparedArtifact> {
  const inlineBytesMax = runtime.options.artifactInlineBytesMax;
  const contentText = textToStore(write, inlineBytesMax);
  const material = write.text ?? contentText ?? write.uri ?? '';
  const sizeBytes = Buffer.byteLength(material);
  if (sizeBytes > limits.executionArtifactBytesMax) {
    const detail = `must be at most ${limits.executionArtifactBytesMax} bytes`;
    throw invalidMember('/artifact', detail, 'limit_exceeded');
  }
  const { name, kind, mediaType, uri } = write;
  const contentHash = sha256(material);
  const facts = { id, runId, name, kind, mediaType, contentHash, sizeBytes, createdAt: now };
  const inline = { text: write.text, content: write.content ?? null, uri, metadata: write.metadata };
  const isLarge = bytesOf(write.text, contentText) > inlineBytesMax;
  if (isLarge) await judge(sizeBytes);
  const artifact: StoredArtifact = isLarge
    ? { ...facts, ...(await offload(runtime, facts, write, material)) }
    : { ...facts, ...inline };
  const { text, content, uri: stored, metadata, ...head } = artifact;
  const record: RecordData = {
    key: artifactKey(runId, id),
    head,
    body: JSON.stringify({ text, content, uri: stored, metadata }),
    listing: { group: runId, id, hidden: false, indexes: { name } },
    ...(uri === stored ? {} : { keptOutside: { bytes: sizeBytes, isNew: true } }),
  };
  return { record, artifact };
}

/**
 * The text of an artifact to store. The handler may change its content after the size check, so small content is
 * serialized now, in the same turn; of larger content the server stores the checked text alone.
 */
function textToStore({ content, contentText }: CheckedArtifact, inlineBytesMax: number): string | null {
  const isLarge = contentText !== null && contentText.length > inlineBytesMax;
  return isLarge || content === undefined ? contentText : canonicalJson(content);
}

/** Size inline. The content hash covers one of text and content, but both are stored. */
function bytesOf(text: string | null, contentText: string | null): number {
  return Buffer.byteLength(text ?? '') + Buffer.byteLength(contentText ?? '');
}

async function offload(
  { blobs: open }: Runtime,
  { id, runId, contentHash }: { id: string; runId: string; contentHash: string },
  write: ArtifactWrite,
  material: string,
) {
  if (write.uri !== null || (write.text !== null && write.content !== undefined)) {
    const detail = 'is larger than an artifact may be inline, so it must be text or content alone';
    throw invalidMember('/artifact', detail, 'limit_exceeded');
  }
  if (open === null) {
    const detail =
      'is larger than an artifact may be inline, and this deployment has no place for larger ones';
    throw invalidMember('/artifact', detail, 'limit_exceeded');
  }
  const blobs = await open();
  const text = write.text !== null;
  const key = artifactBlobKey(runId, id, text);
  const put = blobs.put(key, Buffer.from(material), {
    contentType: text ? 'text/plain; charset=utf-8' : 'application/json',
    sha256: contentHash,
    metadata: { 'execution-run-id': runId, 'execution-artifact-id': id },
  });
  await put.catch((error: unknown) => {
    throw asStoreError(error);
  });
  const room = Object.keys(write.metadata).length + 3 <= limits.executionTagsMax;
  const metadata = room ? { ...write.metadata, storage: blobs.provider, ...OFFLOADED } : write.metadata;
  return { text: null, content: null, uri: blobs.uriOf(key), metadata };
}

/** Removes the bytes of an artifact that was not written after all. */
export async function dropArtifact({ blobs: open }: Runtime, { record }: PreparedArtifact): Promise<void> {
  if (open === null || record.keptOutside === undefined) return;
  const { runId, id } = record.head;
  const blobs = await open();
  for (const isText of [true, false]) await blobs.remove(artifactBlobKey(String(runId), String(id), isText));
}

const STORE_FAILURES: Readonly<Partial<Record<BlobFailure, StoreFailure>>> = {
  full: 'full',
  unavailable: 'unavailable',
  corrupt: 'corrupt',
};

/** Callers handle failures of the record store alone, so a failure of the blob store is reported as one of these. */
export function asStoreError(error: unknown): unknown {
  const failure = error instanceof BlobError ? STORE_FAILURES[error.failure] : undefined;
  return failure === undefined ? error : new StoreError(failure, String(error), { cause: error });
}

export function readArtifact(record: RecordData): StoredArtifact {
  const body = parseJson(record.body ?? '{}') as Pick<
    StoredArtifact,
    'text' | 'content' | 'uri' | 'metadata'
  >;
  const artifact = { ...(uncounted(record.head) as unknown as StoredArtifact), ...body };
  if (!isIntact(artifact)) throw new StoreError('corrupt', 'an artifact is not the one that was written');
  return artifact;
}

/** Bytes outside of the record are checked where they are fetched. */
function isIntact({ contentHash, text, content, metadata }: StoredArtifact): boolean {
  if (metadata['offloaded'] === 'true') return true;
  const material = text ?? (content === null ? null : canonicalJson(content));
  return material === null || sha256(material) === contentHash;
}
