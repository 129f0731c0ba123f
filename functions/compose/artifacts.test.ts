import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CloudStorageServer } from '../../test/support/cloud-storage.ts';
import { loadConfiguration } from '../config/load.ts';
import { inject } from '../http/host-inject.ts';
import { compose } from './compose.ts';

const LARGE = 'x'.repeat(300_000);

interface Lease {
  readonly leaseKey: string;
  readonly leaseToken: string;
  readonly run: { readonly id: string };
}

/** A worker writes an artifact that is too large for the run store, and a caller reads it. */
async function writeAndRead(runtime: object, quotas: object = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-artifacts-'));
  const file = JSON.stringify({
    ExecutionRuntime: { ExternalHandlers: [{ HandlerId: 'h' }], ...runtime },
    Quotas: quotas,
  });
  const readFile = (path: string) => (path === 'svcsettings.json' ? file : undefined);
  const { settings, faults } = loadConfiguration({
    host: 'embedded',
    env: { SVC_DATA_DIR: folder },
    argv: [],
    readFile,
  });
  if (settings === undefined) throw new Error(faults.map(({ message }) => message).join());
  const service = compose(settings, { writeLog: () => {} });
  const chain = await service.chain(['execution']);
  const call = async (method: string, path: string, body?: object) =>
    (
      await inject(chain, { method, path: `/execution${path}`, ...(body === undefined ? {} : { body }) })
    ).json();
  await call('POST', '/runs', { handlerId: 'h', scope: { productId: 'shop', tenantId: 'acme' } });
  const { run, leaseKey, leaseToken } = (await call('POST', '/workers/leases', {
    workerId: 'w',
    handlerIds: ['h'],
  })) as Lease;
  const artifact = { name: 'log', text: LARGE, metadata: {} };
  const written = await call('POST', '/workers/leases/artifacts', {
    leaseKey,
    leaseToken,
    workerId: 'w',
    artifact,
  });
  const read = await call('GET', `/runs/${run.id}/artifacts/log`);
  const left = await readdir(folder, { recursive: true });
  await service.close();
  await rm(folder, { recursive: true, force: true });
  return { written, read, left };
}

test('large artifacts lie in files beside the embedded store', async () => {
  const { written, read, left } = await writeAndRead({});
  expect(written).toMatchObject({ text: null, metadata: { storage: 'files', offloaded: 'true' } });
  expect(read).toMatchObject({ text: LARGE });
  expect(left.some((path) => /artifacts\/.*\.txt$/.test(path))).toBe(true);
});

test('or in a bucket, and then in no file', async () => {
  await using server = await CloudStorageServer.start('bucket-of-runs');
  const { written, read, left } = await writeAndRead({
    ArtifactObjectContainer: server.bucket,
    ArtifactStorageEndpoint: server.endpoint,
  });
  expect(written).toMatchObject({ text: null, metadata: { storage: 'cloud-storage', offloaded: 'true' } });
  expect(read).toMatchObject({ text: LARGE });
  expect(server.objects.size).toBe(1);
  expect(left.filter((path) => /artifacts/.test(path))).toEqual([]);
});

test.each([
  ['the run', { RunArtifactBytesMax: 200_000 }],
  ['the tenant', { TenantBytesMax: 200_000 }],
])('but not where they are more than %s may store: nothing is then written', async (_, quotas) => {
  await using server = await CloudStorageServer.start('bucket-of-runs');
  const place = { ArtifactObjectContainer: server.bucket, ArtifactStorageEndpoint: server.endpoint };
  const { written, left } = await writeAndRead(place, quotas);
  expect(written).toMatchObject({ code: 'quota_exceeded' });
  expect(server.calls).toEqual([]);
  expect(left.filter((path) => /artifacts/.test(path))).toEqual([]);
});
