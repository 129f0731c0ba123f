import { limits } from '../../contracts/generated/limits.ts';
import { canonicalJson, type Json, sha256 } from '../kernel/canonical-json.ts';
import { invalidMember } from '../kernel/errors.ts';
import type { RecordData } from '../store/port.ts';
import { artifactKey } from './records.ts';
import type { Runtime } from './runtime.ts';

export interface ArtifactWrite {
  readonly name: string;
  readonly kind: string;
  readonly mediaType: string | null;
  readonly text: string | null;
  /** `undefined` where none was given: `null` is content. */
  readonly content: Json | undefined;
  readonly uri: string | null;
  readonly metadata: Readonly<Record<string, string>>;
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

/** What is kept beside an artifact that lies out of line. Callers see it as metadata, as they see it inline. */
const OFFLOADED = { offloaded: 'true', inline: 'false' } as const;

/** Where the bytes of all artifacts lie, a folder for each run. */
export const ARTIFACTS_PREFIX = 'artifacts/';

/** Where the bytes of one run's artifacts lie, so that they can be removed with it. */
export function artifactPrefix(runId: string): string {
  return `${ARTIFACTS_PREFIX}${runId}/`;
}

export function artifactBlobKey(runId: string, artifactId: string, text: boolean): string {
  return `${artifactPrefix(runId)}${artifactId}.${text ? 'txt' : 'json'}`;
}

/**
 * The artifact as it is kept: small ones inline, larger ones put into the blob store first, under the same fields. Throws
 * `limit_exceeded` for one that is larger than an artifact may be, or than fits inline where there is no blob store.
 */
export async function artifactRecord(
  runtime: Runtime,
  runId: string,
  id: string,
  write: ArtifactWrite,
  now: number,
): Promise<{ readonly record: RecordData; readonly artifact: StoredArtifact }> {
  const material =
    write.text ?? (write.content === undefined ? (write.uri ?? '') : canonicalJson(write.content));
  const sizeBytes = Buffer.byteLength(material);
  if (sizeBytes > limits.executionArtifactBytesMax) {
    const detail = `must be at most ${limits.executionArtifactBytesMax} bytes`;
    throw invalidMember('/artifact', detail, 'limit_exceeded');
  }
  const { name, kind, mediaType, uri } = write;
  const contentHash = sha256(material);
  const facts = { id, runId, name, kind, mediaType, contentHash, sizeBytes, createdAt: now };
  const inline = { text: write.text, content: write.content ?? null, uri, metadata: write.metadata };
  const artifact: StoredArtifact =
    bytesOf(write) > runtime.options.artifactInlineBytesMax
      ? { ...facts, ...(await offload(runtime, facts, write, material)) }
      : { ...facts, ...inline };
  const { text, content, uri: stored, metadata, ...head } = artifact;
  const record: RecordData = {
    key: artifactKey(runId, id),
    head,
    body: JSON.stringify({ text, content, uri: stored, metadata }),
    listing: { group: runId, id, hidden: false, indexes: { name } },
  };
  return { record, artifact };
}

/** What it takes inline: the hash is of one of them, but all that was given is kept. */
function bytesOf({ text, content }: ArtifactWrite): number {
  const json = content === undefined ? '' : canonicalJson(content);
  return Buffer.byteLength(text ?? '') + Buffer.byteLength(json);
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
  await blobs.put(key, Buffer.from(material), {
    contentType: text ? 'text/plain; charset=utf-8' : 'application/json',
    sha256: contentHash,
    metadata: { 'execution-run-id': runId, 'execution-artifact-id': id },
  });
  const room = Object.keys(write.metadata).length + 3 <= limits.executionTagsMax;
  const metadata = room ? { ...write.metadata, storage: blobs.provider, ...OFFLOADED } : write.metadata;
  return { text: null, content: null, uri: blobs.uriOf(key), metadata };
}

export function readArtifact(record: RecordData): StoredArtifact {
  const body = JSON.parse(record.body ?? '{}') as Pick<
    StoredArtifact,
    'text' | 'content' | 'uri' | 'metadata'
  >;
  return { ...(record.head as unknown as StoredArtifact), ...body };
}
