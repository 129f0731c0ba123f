import { invalidMember } from '../kernel/errors.ts';
import type { KeyRequest } from '../store/port.ts';
import { type ArtifactWrite, artifactRecord, type StoredArtifact } from './artifact.ts';
import { changeRun } from './change-run.ts';
import { type Held, present } from './held.ts';
import { readRun, runKey } from './records.ts';
import { activeLease } from './rules/lease.ts';
import type { Run } from './run.ts';
import type { Runtime } from './runtime.ts';

/** Adds an artifact. Several artifacts may have the same name. */
export async function putArtifact(
  runtime: Runtime,
  held: Held,
  write: ArtifactWrite,
  now: number,
): Promise<StoredArtifact> {
  const id = runtime.ids.next();
  const store = await runtime.store();
  // The bytes are written before the transaction, so check the lease first: a stale holder must not fill the disk.
  const { records } = await store.query(runtime.scope, {
    by: 'keys',
    keys: [{ key: runKey(held.runId), view: 'body' }],
  });
  const current = records[0] === undefined ? undefined : readRun(records[0], held.runId);
  activeLease(current, held, now);
  checkRoom(runtime, present(current));
  const { scope, job } = present(current);
  // The service, not the product, names the artifacts of a job.
  if (job === undefined) runtime.policies.checkArtifactName(scope, write.name);
  const prepared = await artifactRecord(runtime, held.runId, id, write, now);
  const keys: KeyRequest[] = [{ key: prepared.record.key, expectAbsent: true }];
  await changeRun(runtime, { runId: held.runId, now, mayMoveTrace: true, keys }, (before) => {
    const { workerId } = activeLease(before, held, now);
    const { name, contentHash, sizeBytes } = prepared.artifact;
    const details = { artifactId: id, name, contentHash, sizeBytes };
    const event = { type: 'artifact.written', details, workerId };
    const run = present(before);
    checkRoom(runtime, run);
    return {
      change: { run: { ...run, artifacts: run.artifacts + 1 }, events: [event] },
      writes: [{ put: prepared.record }],
      result: null,
    };
  });
  return prepared.artifact;
}

function checkRoom({ options }: Runtime, { artifacts }: Run): void {
  if (artifacts < options.artifactsPerRunMax) return;
  const detail = `must be one of at most ${options.artifactsPerRunMax} of its run`;
  throw invalidMember('/artifact', detail, 'limit_exceeded');
}
