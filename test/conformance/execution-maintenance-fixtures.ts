import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openFileBlobs } from '../../functions/blobs/files/store.ts';
import type { BlobStore } from '../../functions/blobs/port.ts';
import { machine } from '../../functions/compose/machine.ts';
import { sha256 } from '../../functions/kernel/canonical-json.ts';
import { executionCollections } from '../../functions/runs/records.ts';
import { acquireRunLease, scheduleRunTimer } from '../../functions/runs/run-owned.ts';
import type { RecordStore, Scope } from '../../functions/store/port.ts';
import type { ExecutionClient } from '../support/execution.ts';
import { HANDLER, leased, type ownRuns, type StartBody, textOfBytes, working } from './execution-fixtures.ts';

export async function roomForBytes(): Promise<BlobStore> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-maintenance-'));
  return openFileBlobs({ folder, ...machine });
}

/** Everything in the scope, a line a record. */
export async function contentOf(store: RecordStore, scope: Scope): Promise<string[]> {
  const collections = executionCollections.map(({ name }) => name).sort();
  const lines: string[] = [];
  for await (const { records } of store.scan(scope, { collections, pageSize: 100 })) {
    lines.push(...records.map(({ key, ...rest }) => `${key.collection} ${key.id} ${JSON.stringify(rest)}`));
  }
  return lines;
}

/** Runs that were leased and succeeded, oldest first. */
export async function endedRuns(
  client: ExecutionClient,
  count: number,
  body: Partial<StartBody> = {},
): Promise<string[]> {
  const ids: string[] = [];
  for (let made = 0; made < count; made += 1) {
    const { run, work } = await working(client, body);
    await client.complete({ ...work, result: {} });
    ids.push(run.id);
  }
  return ids;
}

const LARGE = textOfBytes(20_000);

/** A run that has ended and owned records of every kind, of checkpoints by default more than one look takes in. */
export async function rich(
  { client, instance, clock }: ReturnType<typeof ownRuns>,
  checkpoints = 120,
): Promise<string> {
  const { run, work } = await working(client, {
    payload: LARGE,
    idempotencyKey: 'rich',
    retryPolicy: { maxAttempts: 2, initialDelaySeconds: 1 },
  });
  await client.report({ ...work, update: { result: LARGE } });
  await client.complete({ ...work, result: { status: 'failed', failureClass: 'again' } });
  clock.now += 60_000;
  const again = await leased(client, run.id);
  const held = { runId: run.id, tokenHash: sha256(again.leaseToken), workerId: again.workerId };
  for (let key = 0; key < checkpoints; key += 1) {
    await client.putCheckpoint({ ...again, checkpoint: { key: `at-${key}`, content: { key } } });
  }
  for (const [name, text] of Object.entries({ small: 'x', large: 'y'.repeat(2_000), larger: LARGE })) {
    await client.putArtifact({ ...again, artifact: { name, text } });
  }
  const { runtime } = instance;
  const lease = { name: `shared-${run.id}`, scope: null, ttlSeconds: 60, metadata: {} };
  await acquireRunLease(runtime, held, lease, clock.now);
  const timer = { name: 'later', fireAt: clock.now + 5_000, payload: LARGE };
  await scheduleRunTimer(runtime, held, timer, clock.now);
  await client.raise(run.id, { name: 'small', payload: 1 });
  await client.raise(run.id, { name: 'large', payload: LARGE });
  await client.complete({ ...again, result: { result: 'small' } });
  return run.id;
}

/** A run that ended and has nothing beside it. */
export async function plain(client: ExecutionClient): Promise<string> {
  const { id } = await client.start({ handlerId: HANDLER });
  await client.cancel(id);
  return id;
}
