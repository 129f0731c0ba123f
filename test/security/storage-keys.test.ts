import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Json } from '../../contracts/generate/schema.ts';
import { type RunningService, startService } from '../support/service.ts';
import { forAll, patienceMs } from './effort.ts';
import { aligned } from './requests.ts';

vi.setConfig({ testTimeout: patienceMs });

let service: RunningService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

type Name = readonly [documentType: string, id: string];

// Of paths, of keys, of lists, and what escapes them.
const separators = [' ', ...`/ \\ | : :: # ? % %2F , ; " ' "," ~ .`.split(' ')];
const alike = '[ ] %00 ~1 .. __ A e\u0301 \u00e9 \u212b \u00c5 \u200b \uff0f'.split(' ');
const identifiers = fc
  .array(fc.constantFrom('a', 'b', ...separators, ...alike), { minLength: 1, maxLength: 4 })
  .map((parts) => parts.join('').trim())
  .filter((id) => id !== '');

/** The same parts under the same separator, divided at each of its places: joined again, they are all one text. */
const divided = fc
  .tuple(fc.constantFrom(...separators), fc.array(fc.constantFrom('a', 'b'), { minLength: 3, maxLength: 5 }))
  .map(([separator, parts]) =>
    parts.slice(1).map((_, at): Name => {
      const place = at + 1;
      return [parts.slice(0, place).join(separator), parts.slice(place).join(separator)];
    }),
  );

/** Two parts each, no two names alike. */
const names = fc
  .tuple(divided, fc.array(fc.tuple(identifiers, identifiers), { minLength: 1, maxLength: 16 }))
  .map((drawn) => {
    const all: readonly Name[] = drawn.flat();
    return [...new Map(all.map((name) => [JSON.stringify(name), name])).values()];
  });

describe('E25: ids of bodies may hold every separator', () => {
  const path = (tenantId: string, rest: string) => `/canonical/tenants/${tenantId}/${rest}`;
  const post = (tenantId: string, rest: string, body: object) =>
    service.call({ method: 'POST', path: path(tenantId, rest), body: aligned(body as Json, { tenantId }) });

  test('each document is read back by its own id and by no other', async () => {
    let round = 0;
    await forAll('documents', 60, names, async (all) => {
      const tenantId = `e25-${(round += 1)}`;
      const written = all.slice(0, -1);
      const mutations = written.map(([documentType, id], n) => ({
        operation: 'upsert',
        document: { tenantId, documentType, id, schemaVersion: '1', data: { n } },
      }));
      const committed = await post(tenantId, 'transactions', { tenantId, idempotencyKey: 'k', mutations });
      expect(committed.status, committed.body).toBe(200);
      for (const [n, [documentType, id]] of written.entries()) {
        const { body } = await post(tenantId, 'documents/read', { documentType, id });
        expect(JSON.parse(body)).toMatchObject({ tenantId, documentType, id, data: { n }, revision: 1 });
        const revisions = await post(tenantId, 'documents/revisions', { documentType, id });
        expect(revisions.json<unknown[]>()).toHaveLength(1);
        // The same parts, joined or divided at another place.
        const others = [`${documentType}/${id}`, `${documentType}:${id}`, id].map(
          (each) => [documentType, each] as const,
        );
        for (const [type, other] of [...others, [id, documentType] as const]) {
          if (written.some(([t, i]) => t === type && i === other)) continue;
          expect((await post(tenantId, 'documents/read', { documentType: type, id: other })).status).toBe(
            404,
          );
        }
      }
      for (const [documentType, id] of all.slice(-1)) {
        expect((await post(tenantId, 'documents/read', { documentType, id })).status).toBe(404);
      }
    });
  });

  test('each fence and each idempotency key is one of its own', async () => {
    let round = 0;
    await forAll('fences', 60, names, async (all) => {
      const tenantId = `e25f-${(round += 1)}`;
      for (const [name, value] of all) {
        const fence = {
          name,
          value,
          ownerDocumentType: name,
          ownerDocumentId: JSON.stringify([name, value]).slice(0, 160),
        };
        const key = JSON.stringify([value, name]).slice(0, 160);
        const { status, body } = await post(tenantId, 'transactions', {
          idempotencyKey: key,
          fences: [fence],
        });
        expect(status, body).toBe(200);
        expect(JSON.parse(body)).toMatchObject({ replayed: false, idempotencyKey: key });
      }
    });
  });

  test('tenants whose names look alike share nothing', async () => {
    const tenants = [
      'alike',
      'Alike',
      'ALIKE',
      'al\u00efke',
      'al\u0131ke',
      'alike.',
      'alike-',
      'alike~1',
      '__proto__',
      'con',
      '\uff41like',
    ];
    for (const [n, tenant] of tenants.entries()) {
      const body = {
        tenantId: tenant,
        idempotencyKey: 'k',
        mutations: [
          { document: { tenantId: tenant, documentType: 'd', id: 'i', schemaVersion: '1', data: { n } } },
        ],
      };
      const request = { method: 'POST', path: path(encodeURIComponent(tenant), 'transactions'), body };
      expect((await service.call(request)).json()).toMatchObject({ tenantId: tenant, replayed: false });
    }
    for (const [n, tenant] of tenants.entries()) {
      const { body } = await post(encodeURIComponent(tenant), 'documents/read', {
        documentType: 'd',
        id: 'i',
      });
      expect(JSON.parse(body)).toMatchObject({ tenantId: tenant, data: { n }, revision: 1 });
    }
  });
});
