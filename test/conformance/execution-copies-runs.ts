import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { MemoryArchive } from '../../functions/groups/canonical/copies/snapshot/memory-archive.ts';
import type { RunsOf } from '../../functions/runs/copies/archive-lines.ts';
import { exportRuns } from '../../functions/runs/copies/export-runs.ts';
import { accountForRuns } from '../../functions/runs/maintenance/account.ts';
import { HANDLER, leased, type ownRuns, storedRun, textOfBytes, type Work } from './execution-fixtures.ts';
import { refusedWith } from './execution-stage.ts';

/** Runs of one tenant that a copy reads during their work, and the next steps of each after a restore. */

export type Deployment = ReturnType<typeof ownRuns>;

export const SMALL_INLINE = { options: { artifactInlineBytesMax: 1_000 } };

const HOUR = 3_600_000;
const LARGE = textOfBytes(20_000);
const BYTES = 'y'.repeat(1_100_000);

export interface Begun {
  readonly tenantId: string;
  readonly sleeping: string;
  readonly waiting: string;
  readonly held: string;
  readonly queued: string;
  readonly done: string;
  readonly oldWork: Work;
  readonly key: string;
}

/** Starts one run of each kind and stops in the middle. */
export async function begin({ client, clock }: Deployment, tenantId: string = randomUUID()): Promise<Begun> {
  const scope = { productId: 'copies', tenantId };
  const key = randomUUID();
  const start = async (body: object = {}) =>
    (await client.start({ handlerId: HANDLER, scope, payload: { tenantId }, ...body })).id;
  const done = await start({ payload: `${tenantId} ${LARGE}` });
  await client.complete({ ...(await leased(client, done)), result: { result: LARGE } });
  const sleeping = await start();
  const timer = { kind: 'timer', name: 'nap', fireAtUtc: new Date(clock.now + HOUR).toISOString() } as const;
  await client.wait({ ...(await leased(client, sleeping)), ...timer });
  const waiting = await start();
  await client.wait({ ...(await leased(client, waiting)), kind: 'external_event', name: 'approved' });
  const held = await start();
  const oldWork = await leased(client, held);
  await client.putCheckpoint({ ...oldWork, checkpoint: { key: 'at', content: { step: 2 } } });
  await client.putArtifact({ ...oldWork, artifact: { name: 'small', text: tenantId } });
  await client.putArtifact({ ...oldWork, artifact: { name: 'large', text: BYTES } });
  const queued = await start({ idempotencyKey: key });
  return { tenantId, sleeping, waiting, held, queued, done, oldWork, key };
}

export async function archived({ instance }: Deployment, of: RunsOf) {
  const archive = new MemoryArchive();
  const manifest = await exportRuns(instance.runtime, of, archive, { chunkBytes: 1_000_000 });
  return { archive, manifest };
}

/** The restored runs go on and end, each once, and the token of the old worker is refused. */
export async function goOn(deployment: Deployment, begun: Begun): Promise<void> {
  const { client, instance } = deployment;
  const { held, oldWork, sleeping, waiting, queued, done, tenantId, key } = begun;
  const faultless = async () => expect((await accountForRuns(instance.runtime)).faults).toEqual([]);
  await faultless();
  expect(await refusedWith(client.complete({ ...oldWork, result: {} }))).toBe('lease_not_active');
  expect((await client.get(held)).status).toBe('queued');
  const work = await leased(client, held);
  expect((await client.readCheckpoint({ ...work, key: 'at' }))?.content).toEqual({ step: 2 });
  expect((await storedRun(client, held)).attempt).toBe(2);
  await client.complete({ ...work, result: { result: 'again' } });
  expect((await client.artifact(held, 'large')).text).toBe(BYTES);
  expect((await client.artifact(held, 'small')).text).toBe(tenantId);

  await client.raise(waiting, { name: 'approved', payload: 1 });
  const resumed = await leased(client, waiting);
  await client.wait({ ...resumed, kind: 'external_event', name: 'approved' });
  await client.complete({ ...resumed, result: {} });

  expect((await client.get(sleeping)).status).toBe('waiting');
  await deployment.pass(HOUR + 1);
  await client.complete({ ...(await leased(client, sleeping)), result: {} });

  const scope = { productId: 'copies', tenantId };
  const body = { handlerId: HANDLER, scope, payload: { tenantId }, idempotencyKey: key };
  expect((await client.start(body)).id).toBe(queued);
  await client.complete({ ...(await leased(client, queued)), result: {} });
  expect((await client.get(done)).result).toBe(LARGE);
  for (const id of [held, waiting, sleeping, queued, done]) {
    const history = await client.history(id, { limit: 200 });
    expect(history.filter(({ type }) => type === 'run.completed')).toHaveLength(1);
    expect((await client.get(id)).status).toBe('succeeded');
  }
  await faultless();
}
