import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { declaredCollections } from '../../functions/compose/collections.ts';
import { machine } from '../../functions/compose/machine.ts';
import { addUse } from '../../functions/quotas/usage-store.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { runTool } from '../support/operator-tool.ts';
import { startService } from '../support/service.ts';

async function temporaryFolder() {
  const path = await mkdtemp(join(tmpdir(), 'svc-usage-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

test('the tool lists the use of owners, and recounts one that a killed process miscounted', async () => {
  await using folder = await temporaryFolder();
  const service = await startService({ folder: folder.path });
  const path = join(folder.path, 'svc.canonical.sqlite');
  const usage = async (...options: readonly string[]) => {
    const { code, stdout, stderr } = await runTool([
      'usage',
      '--canonical-db',
      path,
      '--output',
      'json',
      ...options,
    ]);
    if (code !== 0) throw new Error(stderr);
    return JSON.parse(stdout) as unknown;
  };
  for (const tenantId of ['acme', 'other']) {
    const document = { tenantId, documentType: 'order', id: '1', schemaVersion: '1', data: { a: 1 } };
    const body = { idempotencyKey: '1', mutations: [{ document }] };
    await service.call({ method: 'POST', path: `/canonical/tenants/${tenantId}/transactions`, body });
  }
  const scope = { productId: 'p', tenantId: 'acme' };
  const run = { handlerId: 'invoice.render', scope, payload: { text: 'x'.repeat(3_000) } };
  await service.call({ method: 'POST', path: '/execution/runs', body: run });
  // At its end the service adds the use that it has counted.
  await service.close();
  const before = await usage();
  expect(before).toMatchObject([
    { owner: 'tenant', name: 'acme' },
    { owner: 'tenant', name: 'other' },
  ]);
  const store = await openSqliteStore({ path, ...machine, collections: declaredCollections });
  await addUse(store, { kind: 'tenants', name: 'acme' }, 2, { data: -700, runs: 9_000 });
  await store.close();
  expect(await usage()).not.toEqual(before);
  const [acme] = before as readonly unknown[];
  expect(await usage('--recount', 'acme')).toEqual([acme]);
  expect(await usage()).toEqual(before);
  // The manifest of a backup binds its files.
  await writeFile(join(folder.path, 'manifest.json'), '{}');
  await expect(usage('--recount', 'acme')).rejects.toThrow('is a backup');
  expect(await usage()).toEqual(before);
});
