import { canonicalJson, sha256 } from '../kernel/canonical-json.ts';
import { ServiceError } from '../kernel/errors.ts';
import { type RecordData, StoreError } from '../store/port.ts';
import { readArtifact } from './artifact.ts';
import { withBytes } from './read-artifacts.ts';
import type { Runtime } from './runtime.ts';

/**
 * The bytes of an artifact whose record was read, also those in the blob store. Throws `corrupt` for bytes that differ
 * from the written ones.
 */
export async function verifyArtifact(
  runtime: Pick<Runtime, 'store' | 'scope' | 'blobs'>,
  record: RecordData,
): Promise<number> {
  const artifact = readArtifact(record);
  const isGone = async () => {
    const keys = [{ key: record.key }];
    const store = await runtime.store();
    return (await store.query(runtime.scope, { by: 'keys', keys })).records.length === 0;
  };
  const whole = await withBytes(runtime, artifact, () => {}).catch(async (error: unknown) => {
    if (!(error instanceof ServiceError)) throw error;
    // The run of the artifact was removed since.
    if (await isGone()) return null;
    throw new StoreError('corrupt', 'the bytes of an artifact are gone');
  });
  if (whole === null || whole === artifact) return artifact.sizeBytes;
  const material = whole.text ?? canonicalJson(whole.content);
  if (sha256(material) === artifact.contentHash) return artifact.sizeBytes;
  throw new StoreError('corrupt', 'an artifact is not the one that was written');
}
