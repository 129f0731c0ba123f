import { limits } from '../../contracts/generated/limits.ts';
import type { Json } from '../kernel/canonical-json.ts';
import { ServiceError } from '../kernel/errors.ts';
import { parseJson } from '../kernel/json-text.ts';
import { LIST_ANSWER_MAX, listPages, recordsOf } from '../store/pages.ts';
import type { RecordData } from '../store/port.ts';
import { artifactBlobKey, asStoreError, readArtifact, type StoredArtifact } from './artifact.ts';
import { ARTIFACTS, artifactKey } from './records.ts';
import type { Runtime } from './runtime.ts';

/** Artifacts of one run that a list contains. */
const LISTED_MAX = 1_000;
/** Artifacts of one page: each may have the full inline size. */
const LISTED_PAGE = 100;

/**
 * Lists artifacts, oldest first. Those that no longer fit into one answer are listed without their text and content. A read of one
 * artifact by its id also returns its bytes, which a list omits.
 */
export async function listArtifacts(
  runtime: Runtime,
  runId: string,
  name?: string,
): Promise<StoredArtifact[]> {
  const store = await runtime.store();
  const found: StoredArtifact[] = [];
  let characters = 0;
  const listed = (record: RecordData): StoredArtifact => {
    const size = (record.body ?? '').length;
    const fits = characters + size <= LIST_ANSWER_MAX;
    const artifact = readArtifact(record);
    if (fits) characters += size;
    return fits ? artifact : { ...artifact, text: null, content: null };
  };
  const equal = name === undefined ? {} : { equal: { name } };
  const selection = { collection: ARTIFACTS, group: runId, ...equal, limit: LISTED_PAGE };
  for await (const record of recordsOf(listPages(store, runtime.scope, selection))) {
    found.push(listed(record));
    if (found.length >= LISTED_MAX) break;
  }
  return found;
}

/**
 * Finds an artifact by id, or else the newest of that name, with its bytes. `null` if the run has none. `hold` learns the
 * size before the bytes are read, and may throw.
 */
export async function findArtifact(
  runtime: Runtime,
  runId: string,
  ref: string,
  hold: (bytes: number) => void = () => {},
): Promise<StoredArtifact | null> {
  const store = await runtime.store();
  const { records } = await store.query(runtime.scope, {
    by: 'keys',
    keys: [{ key: artifactKey(runId, ref), view: 'body' }],
  });
  const artifact =
    records[0] === undefined ? await newestNamed(runtime, runId, ref) : readArtifact(records[0]);
  return artifact === null ? null : withBytes(runtime, artifact, hold);
}

async function newestNamed(runtime: Runtime, runId: string, name: string): Promise<StoredArtifact | null> {
  const store = await runtime.store();
  const { records } = await store.query(runtime.scope, {
    by: 'list',
    collection: ARTIFACTS,
    group: runId,
    equal: { name },
    direction: 'descending',
    limit: 1,
  });
  return records[0] === undefined ? null : readArtifact(records[0]);
}

/** The artifact with its bytes from the blob store. `hold` learns the size before they are read, and may throw. */
export async function withBytes(
  { blobs: open }: Pick<Runtime, 'blobs'>,
  artifact: StoredArtifact,
  hold: (bytes: number) => void,
): Promise<StoredArtifact> {
  if (artifact.metadata.offloaded !== 'true' && artifact.uri === null) return artifact;
  if (open === null || artifact.uri === null) return artifact;
  hold(artifact.sizeBytes);
  const blobs = await open();
  for (const text of [true, false]) {
    const key = artifactBlobKey(artifact.runId, artifact.id, text);
    if (blobs.uriOf(key) !== artifact.uri) continue;
    const blob = await blobs.get(key, limits.executionArtifactBytesMax).catch((error: unknown) => {
      throw asStoreError(error);
    });
    if (blob === null) throw new ServiceError('not_found', 'The bytes of this artifact are gone');
    const material = Buffer.from(blob.bytes).toString('utf8');
    return text ? { ...artifact, text: material } : { ...artifact, content: parseJson(material) as Json };
  }
  return artifact;
}
