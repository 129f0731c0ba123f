import { expect, test } from 'vitest';
import { limits } from '../../../../contracts/generated/limits.ts';
import { makeSnapshot, type TenantSnapshot } from './snapshot/snapshot.ts';
import { sampleTenant, scanned } from './snapshot/tenants.fixture.ts';
import { snapshotText } from './snapshot-text.ts';

const options = {
  bytesMax: null,
  advice: 'Use an archive.',
  turns: { due: () => false, next: () => Promise.resolve() },
};

async function sample() {
  const { store, client } = await sampleTenant();
  return makeSnapshot('tenant-a', scanned(store, 'tenant-a'), { now: client.clock.now });
}

const written = async (snapshot: TenantSnapshot): Promise<string> =>
  Buffer.concat((await snapshotText(snapshot, options)).blocks()).toString();

test('is the JSON of the snapshot', async () => {
  const snapshot = await sample();
  expect(await written(snapshot)).toBe(JSON.stringify(snapshot));
  const empty = { ...snapshot, documents: [], fences: [] };
  expect(await written(empty)).toBe(JSON.stringify(empty));
});

test('lets others have their turn between two items, and puts nothing together', async () => {
  const snapshot = await sample();
  let taken = 0;
  const turns = { due: () => true, next: async () => void (taken += 1) };
  const large = { ...snapshot, fences: snapshot.fences.flatMap((fence) => Array(1_000).fill(fence)) };
  const content = await snapshotText(large, { ...options, turns });
  const blocks = content.blocks();
  expect(Buffer.concat(blocks).toString()).toBe(JSON.stringify(large));
  expect(taken).toBeGreaterThan(1_000);
  expect(Math.max(...blocks.map(({ buffer }) => buffer.byteLength))).toBeLessThanOrEqual(64 * 1024);
});

test('what a restore would refuse for its size is not exported', async () => {
  const snapshot = await sample();
  const whole = Buffer.byteLength(JSON.stringify(snapshot));
  await snapshotText(snapshot, { ...options, bytesMax: whole });
  await expect(snapshotText(snapshot, { ...options, bytesMax: whole - 1 })).rejects.toMatchObject({
    code: 'snapshot_too_large',
    message: expect.stringContaining('Use an archive.'),
  });
  const [document] = snapshot.documents;
  if (document === undefined) throw new Error('no document');
  const empty: never[] = [];
  const many = Array.from({ length: limits.restoreJsonContainersMax }, () => empty);
  const nested = { ...document, data: { list: many } };
  await expect(snapshotText({ ...snapshot, documents: [nested] }, options)).rejects.toMatchObject({
    code: 'snapshot_too_large',
  });
});
