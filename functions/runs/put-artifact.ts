import { invalidMember, ServiceError } from '../kernel/errors.ts';
import { quotaExceeded } from '../kernel/quota.ts';
import type { KeyRequest } from '../store/port.ts';
import {
  artifactRecord,
  type CheckedArtifact,
  dropArtifact,
  readArtifact,
  type StoredArtifact,
} from './artifact.ts';
import { changeRun } from './change-run.ts';
import { type Held, present } from './held.ts';
import { artifactKey, readRun, runKey } from './records.ts';
import { answerTo, type WriteName, withAnswer } from './rules/answered.ts';
import { activeLease, staleLease } from './rules/lease.ts';
import type { Run } from './run.ts';
import { ownerOfRun } from './run-job.ts';
import type { Runtime } from './runtime.ts';

/** Adds an artifact. Several artifacts may have the same name. A repeat of a named write answers the stored artifact. */
export async function putArtifact(
  runtime: Runtime,
  held: Held,
  write: CheckedArtifact,
  now: number,
  name: WriteName | null = null,
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
  const earlier = answerTo(present(current), name)?.artifactId;
  if (earlier !== undefined) return storedArtifact(runtime, held.runId, earlier);
  const leased = present(current);
  checkRoom(runtime, leased, 0);
  const { scope, job } = leased;
  // The service, not the product, names the artifacts of a job.
  if (job === undefined) runtime.policies.checkArtifactName(scope, write.name);
  // The transaction judges again. Bytes that it would refuse must not fill the disk first.
  const judge = async (bytes: number): Promise<void> => {
    checkRoom(runtime, leased, bytes);
    const owner = ownerOfRun(leased);
    if (owner !== null && job === undefined) await store.admit?.(owner, bytes, 'request');
  };
  const prepared = await artifactRecord(runtime, held.runId, id, write, { now, judge });
  const keys: KeyRequest[] = [{ key: prepared.record.key, expectAbsent: true }];
  const done = changeRun(
    runtime,
    { runId: held.runId, now, mayMoveTrace: true, grows: true, keys },
    (before, _, at) => {
      const { workerId } = activeLease(before, held, at);
      const run = present(before);
      const answer = answerTo(run, name)?.artifactId;
      if (answer !== undefined) return { change: null, result: answer };
      const { contentHash, sizeBytes } = prepared.artifact;
      const details = { artifactId: id, name: write.name, contentHash, sizeBytes };
      const event = { type: 'artifact.written', details, workerId };
      checkRoom(runtime, run, sizeBytes);
      const artifactBytes = (run.artifactBytes ?? 0) + sizeBytes;
      const grown = { ...run, artifacts: run.artifacts + 1, artifactBytes };
      const next = withAnswer(grown, name, { at, artifactId: id });
      return { change: { run: next, events: [event] }, writes: [{ put: prepared.record }], result: id };
    },
  );
  const { result: wonBy } = await done.catch(async (error: unknown) => {
    // After another failure the artifact may be there.
    if (error instanceof ServiceError) await dropArtifact(runtime, prepared).catch(() => undefined);
    throw error;
  });
  if (wonBy === id) return prepared.artifact;
  await dropArtifact(runtime, prepared).catch(() => undefined);
  return storedArtifact(runtime, held.runId, wonBy);
}

async function storedArtifact(runtime: Runtime, runId: string, id: string): Promise<StoredArtifact> {
  const store = await runtime.store();
  const key = artifactKey(runId, id);
  const { records } = await store.query(runtime.scope, { by: 'keys', keys: [{ key, view: 'body' }] });
  if (records[0] === undefined) throw staleLease();
  return readArtifact(records[0]);
}

function checkRoom({ options }: Runtime, { artifacts, artifactBytes = 0 }: Run, bytes: number): void {
  if (artifactBytes + bytes > options.runArtifactBytes.bytes)
    throw quotaExceeded(options.runArtifactBytes, artifactBytes);
  if (artifacts < options.artifactsPerRunMax) return;
  const detail = `must be one of at most ${options.artifactsPerRunMax} of its run`;
  throw invalidMember('/artifact', detail, 'limit_exceeded');
}
