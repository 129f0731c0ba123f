import { afterEach, describe, expect, test } from 'vitest';
import type { CanonicalTenantSnapshot } from '../../../../contracts/generated/models.ts';
import { type RunningService, startService } from '../../../../test/support/service.ts';
import type { Json } from '../../../kernel/canonical-json.ts';
import { tenantOver } from './copy-operations.fixture.ts';

const services: RunningService[] = [];
afterEach(async () => {
  for (const service of services.splice(0)) await service.close();
});

async function started(settings: Readonly<Record<string, string>> = {}) {
  const service = await startService({ settings });
  services.push(service);
  return tenantOver(service, 'acme');
}

describe('over HTTP', () => {
  test('a tenant without records is exported empty, and restored', async () => {
    const { exported, restore } = await started();
    const snapshot = (await exported()).json<CanonicalTenantSnapshot>();
    expect(snapshot).toMatchObject({ tenantId: 'acme', documents: [], transactions: [] });
    const answer = await restore({ snapshot });
    expect([answer.status, answer.body.length]).toEqual([204, 0]);
  });

  test('a restore brings back the exported records, and an idempotency key used since the export is free again', async () => {
    const { commit, exported, restore } = await started();
    await commit('first', 1);
    const snapshot = (await exported()).json<CanonicalTenantSnapshot>();
    await commit('second', 2);
    const changed = (await exported()).json<CanonicalTenantSnapshot>();
    expect(changed.contentHash).not.toBe(snapshot.contentHash);
    expect((await restore({ snapshot, expectedContentHash: snapshot.contentHash })).status).toBe(204);
    const { exportedAtUtc: _, ...restored } = (await exported()).json<CanonicalTenantSnapshot>();
    expect({ ...snapshot, ...restored }).toEqual(snapshot);
    expect((await commit('second', 3)).json<{ replayed: boolean }>().replayed).toBe(false);
    expect((await commit('first', 1)).json<{ replayed: boolean }>().replayed).toBe(true);
  });

  const refusals: [string, (snapshot: CanonicalTenantSnapshot) => Json, string, string][] = [
    [
      'content with another hash',
      (snapshot) => ({ snapshot: { ...snapshot, fences: [], documents: [] } }),
      'content_hash_mismatch',
      '/snapshot/contentHash',
    ],
    [
      'content that is not the expected one',
      (snapshot) => ({ snapshot, expectedContentHash: `sha256:${'0'.repeat(64)}` }),
      'content_hash_mismatch',
      '/expectedContentHash',
    ],
    [
      'the snapshot of another tenant',
      (snapshot) => ({ snapshot: { ...snapshot, tenantId: 'other' } }),
      'tenant_mismatch',
      '/snapshot/tenantId',
    ],
    [
      'a document twice',
      (snapshot) => ({
        snapshot: { ...snapshot, documents: [...snapshot.documents, ...snapshot.documents] },
      }),
      'duplicate_in_request',
      '/snapshot/documents/1',
    ],
    [
      'an unknown member',
      (snapshot) => ({ snapshot: { ...snapshot, more: 1 } }),
      'validation_failed',
      '/snapshot',
    ],
  ];

  test.each(refusals)('%s is refused, and nothing replaced', async (_, body, code, pointer) => {
    const { commit, exported, restore } = await started();
    await commit('first', 1);
    const snapshot = (await exported()).json<CanonicalTenantSnapshot>();
    const answer = await restore(body(snapshot));
    expect(answer.json()).toMatchObject({ status: 400, code, errors: [{ pointer }] });
    expect((await exported()).json<CanonicalTenantSnapshot>().contentHash).toBe(snapshot.contentHash);
  });

  test('what the platform in front cannot carry is refused with where to go', async () => {
    const { commit, exported, restore } = await started({ 'Server:MessageBytesMax': '1048576' });
    for (let n = 0; n < 3; n++) await commit(`k${n}`, n, 200_000);
    const answer = await exported();
    expect(answer.json()).toMatchObject({ status: 413, code: 'snapshot_too_large' });
    expect(answer.json<{ detail: string }>().detail).toContain('svc canonical-archive-export');
    const refused = await restore({ filler: 'x'.repeat(1_100_000) });
    expect(refused.json()).toMatchObject({ status: 413, code: 'snapshot_too_large' });
    expect(refused.json<{ detail: string }>().detail).toContain('svc canonical-archive-restore');
  });
});
