import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { abandonImport, cleanUpSource, removeStaged } from '../../examples/import/cleanup.ts';
import { type ImportOutcome, importSource } from '../../examples/import/importer.ts';
import {
  pagesOf,
  readItem,
  readSource,
  resolveManifest,
  SupersededError,
} from '../../examples/import/reader.ts';
import { type RunningService, startService } from '../support/service.ts';
import { ImportTenant, type Meddle, sourceOf } from './staged-import-tenant.ts';

let service: RunningService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const newly: ImportOutcome = { status: 'published', before: false };

describe('readers', () => {
  test('see the items of the manifest, by type, index and id, and no staged items beside it', async () => {
    const tenant = new ImportTenant(service);
    const client = tenant.client();
    expect(await readSource(client, 'parts')).toBeNull();
    expect(await readItem(client, 'parts', 'part', 'p-1')).toBeNull();
    await importSource(client, sourceOf('v1', 1, 30));
    const waiting = { ...sourceOf('v2', 2, 30), expectedCount: 31 };
    await expect(importSource(client, waiting)).rejects.toThrow();
    expect(await tenant.staged('v2')).toHaveLength(30);
    expect((await readSource(client, 'parts'))?.documents).toHaveLength(30);
    const red = await readSource(client, 'parts', { documentType: 'part', indexes: { colour: 'red' } });
    expect(red?.documents.map(({ data }) => data)).toEqual(
      expect.arrayContaining([{ edition: 1, n: 2, importId: 'v1' }]),
    );
    expect(red?.documents).toHaveLength(15);
    expect((await readSource(client, 'parts', { documentType: 'other' }))?.documents).toEqual([]);
    expect(await readItem(client, 'parts', 'part', 'p-1')).toMatchObject({ data: { edition: 1, n: 1 } });
    expect(await readItem(client, 'parts', 'part', 'p-30')).toBeNull();
  });

  test('see nothing of a source whose manifest says anything but published', async () => {
    const tenant = new ImportTenant(service);
    const client = tenant.client();
    await importSource(client, sourceOf('v1', 1, 10));
    const { documentType, id, schemaVersion, data, indexes } = await tenant.manifest('parts');
    const withdrawn = { tenantId: tenant.id, documentType, id, schemaVersion, indexes };
    await client.commit({
      idempotencyKey: 'withdraw',
      mutations: [
        { operation: 'upsert', document: { ...withdrawn, data: { ...data, status: 'withdrawn' } } },
      ],
    });
    expect(await readSource(client, 'parts')).toBeNull();
    expect(await importSource(client, sourceOf('v2', 2, 10))).toEqual(newly);
    expect((await readSource(client, 'parts'))?.manifest).toMatchObject({ sourceVersion: 2 });
  });

  test('start again when their version is superseded and cleaned up', async () => {
    const tenant = new ImportTenant(service);
    const writer = tenant.client();
    await importSource(writer, sourceOf('v1', 1, 1200));
    let queries = 0;
    const meddle: Meddle = async ({ path }, send) => {
      if (path.endsWith('/documents/query') && ++queries === 2) {
        await importSource(writer, sourceOf('v2', 2, 1100));
        await cleanUpSource(writer, 'parts');
      }
      return send();
    };
    const seen = await readSource(tenant.client({ meddle }), 'parts');
    expect(seen?.manifest.importId).toBe('v2');
    expect(seen?.documents.filter(({ data }) => data?.edition === 2)).toHaveLength(1100);
    expect(seen?.documents).toHaveLength(1100);
    expect(await tenant.staged('v1')).toEqual([]);
    expect(queries).toBe(4);
  });

  test('detect that at the end of their pages, and do not mistake a removed item for one that never existed', async () => {
    const tenant = new ImportTenant(service);
    const writer = tenant.client();
    await importSource(writer, sourceOf('v1', 1, 10));
    const manifest = await resolveManifest(writer, 'parts');
    const publishSecond: Meddle = async ({ body }, send) => {
      if (body.documentType === 'part' && body.id === 'v1:p-1') {
        await importSource(writer, sourceOf('v2', 2, 10));
        await cleanUpSource(writer, 'parts');
      }
      return send();
    };
    const item = await readItem(tenant.client({ meddle: publishSecond }), 'parts', 'part', 'p-1');
    expect(item).toMatchObject({ id: 'v2:p-1', data: { edition: 2 } });
    const readToEnd = async () => {
      for await (const _ of pagesOf(writer, manifest!));
    };
    await expect(readToEnd()).rejects.toThrow(SupersededError);
  });
});

describe('the clean-up', () => {
  test('never changes staged or published items', async () => {
    const tenant = new ImportTenant(service);
    const client = tenant.client();
    await importSource(client, sourceOf('v1', 1, 10));
    await expect(importSource(client, { ...sourceOf('v2', 2, 10), expectedCount: 9 })).rejects.toThrow();
    expect(await cleanUpSource(client, 'parts')).toBe(0);
    await expect(removeStaged(client, 'v1')).rejects.toThrow('v1 is published');
    await expect(removeStaged(client, 'v2')).rejects.toThrow('v2 is staging');
    await expect(removeStaged(client, 'v9')).rejects.toThrow('there is no import v9');
    expect(await abandonImport(client, 'v1')).toBe('published');
    expect([await tenant.staged('v1'), await tenant.staged('v2')].map((all) => all.length)).toEqual([10, 10]);
  });

  test('that ends half-way is continued, by several importers at once', async () => {
    const tenant = new ImportTenant(service);
    const client = tenant.client();
    await importSource(client, sourceOf('v1', 1, 450));
    await importSource(client, sourceOf('v2', 2, 10));
    let deletes = 0;
    const meddle: Meddle = async ({ body }, send) => {
      if (!String(body.idempotencyKey).includes(':delete:')) return send();
      deletes += 1;
      await send();
      if (deletes === 2) throw new RangeError('ended');
      return send();
    };
    const broken = tenant.client({ meddle, pause: () => Promise.reject(new RangeError('ended')) });
    await expect(removeStaged(broken, 'v1')).rejects.toThrow('ended');
    expect((await tenant.staged('v1')).length).toBe(250);
    const removed = await Promise.all([1, 2, 3].map(() => cleanUpSource(tenant.client(), 'parts')));
    expect(removed.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(250);
    expect(await tenant.staged('v1')).toEqual([]);
    expect((await readSource(client, 'parts'))?.documents).toHaveLength(10);
  });

  test('goes over it again when another one was quicker with a part of a chunk', async () => {
    const tenant = new ImportTenant(service);
    const client = tenant.client();
    await importSource(client, sourceOf('v1', 1, 50));
    await importSource(client, sourceOf('v2', 2, 10));
    let disturbed = false;
    const meddle: Meddle = async ({ body }, send) => {
      if (!disturbed && String(body.idempotencyKey).includes(':delete:')) {
        disturbed = true;
        const mutations = [{ operation: 'delete', documentType: 'part', id: 'v1:p-7' } as const];
        await client.commit({ idempotencyKey: 'quicker', mutations });
      }
      return send();
    };
    expect(await removeStaged(tenant.client({ meddle }), 'v1')).toBe(49);
    expect(await tenant.staged('v1')).toEqual([]);
    expect((await tenant.record('v1')).data).toMatchObject({ removed: false });
  });

  test('removes the rest of an importer that did not know it was given up, then closes the books', async () => {
    const tenant = new ImportTenant(service);
    const client = tenant.client();
    let straggler: (() => Promise<Response>) | undefined;
    const meddle: Meddle = async ({ body }, send) => {
      if (body.idempotencyKey !== 'one:chunk:000000001') return send();
      straggler = send;
      throw new RangeError('lost on the way');
    };
    const ending = tenant.client({ meddle, pause: () => Promise.reject(new RangeError('ended')) });
    await expect(importSource(ending, sourceOf('one', 1, 150))).rejects.toThrow('ended');
    expect(await abandonImport(client, 'one')).toBe('abandoned');
    expect(await cleanUpSource(client, 'parts')).toBe(100);
    await straggler?.();
    expect(await cleanUpSource(client, 'parts')).toBe(50);
    expect((await tenant.record('one')).data).toMatchObject({ state: 'abandoned', removed: false });
    expect(await cleanUpSource(client, 'parts')).toBe(0);
    expect((await tenant.record('one')).data).toMatchObject({ state: 'abandoned', removed: true });
    // Its keys are used for ever: it cannot be begun again, and says so.
    expect(await importSource(client, sourceOf('one', 1, 150))).toEqual({
      status: 'refused',
      reason: 'abandoned',
    });
    expect(await importSource(client, sourceOf('two', 1, 150))).toEqual(newly);
  });
});
