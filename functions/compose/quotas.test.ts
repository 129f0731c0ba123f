import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, test } from 'vitest';
import { startService } from '../../test/support/service.ts';
import { loadConfiguration } from '../config/load.ts';
import { DISK_BYTES_PER_COUNTED, limitsOf } from './quotas.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-disk-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const PIB = 1024 ** 5;
const tenant = { kind: 'tenants', name: 'a' } as const;

function limitWith(given: Readonly<Record<string, string>>) {
  const settings = { 'Server:DataDirectory': folder, 'Quotas:TenantBytesMax': String(PIB / 2), ...given };
  const argv = Object.entries(settings).map(([key, value]) => `--${key}=${value}`);
  const loaded = loadConfiguration({ host: 'embedded', env: {}, argv, readFile: () => undefined });
  if (loaded.settings === undefined) throw new Error(loaded.faults.map(({ message }) => message).join());
  return limitsOf(loaded.settings)(tenant);
}

describe('the share of a disk', () => {
  const { bsize, blocks } = statfsSync(folder);

  test('bounds an owner by the bytes that a counted one takes there', () => {
    expect(limitWith({ 'Quotas:DiskSharePercent': '50' })).toEqual({
      bytes: Math.floor((bsize * blocks) / 2 / DISK_BYTES_PER_COUNTED),
      setting: 'Quotas:DiskSharePercent',
    });
  });

  test.each([
    ['is no bound at 100 percent', { 'Quotas:DiskSharePercent': '100' }],
    ['is none of a database elsewhere', { 'CanonicalStore:Provider': 'firestore' }],
    ['is none where the folder is not there', { 'Server:DataDirectory': join(folder, 'none') }],
  ])('%s', (_, given) => {
    expect(limitWith(given)).toEqual({ bytes: PIB / 2, setting: 'Quotas:TenantBytesMax' });
  });

  test('is judged by what counted bytes take: small runs take most', async () => {
    const service = await startService({ folder });
    for (let made = 0; made < 1_500; made += 1) {
      const payload = { text: randomBytes(150).toString('hex') };
      const body = { handlerId: 'invoice.render', scope: { productId: 'p', tenantId: 'a' }, payload };
      const { status } = await service.call({ method: 'POST', path: '/execution/runs', body });
      expect(status).toBe(202);
    }
    await service.close();
    const path = join(folder, 'svc.canonical.sqlite');
    const database = new DatabaseSync(path, { readOnly: true });
    const counted = database.prepare(`SELECT sum(head ->> 'countedBytes') AS bytes FROM records`).get()?.[
      'bytes'
    ];
    database.close();
    expect(statSync(path).size / Number(counted)).toBeLessThan(1.1 * DISK_BYTES_PER_COUNTED);
  });
});
