import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { forAll, patienceMs } from '../support/effort.ts';
import { hurried, type RunningService, startService } from '../support/service.ts';
import { freshTenant } from './target.ts';

vi.setConfig({ testTimeout: patienceMs });

let service: RunningService;
beforeAll(async () => {
  service = await startService({ world: hurried });
});
afterAll(() => service.close());

type Name = readonly [documentType: string, id: string];

// Separators of paths, keys and lists, and characters that escape them.
const separators = [' ', ...`/ \\ | : :: # ? % %2F , ; " ' "," ~ .`.split(' ')];
const alike = '[ ] %00 ~1 .. __ A e\u0301 \u00e9 \u212b \u00c5 \u200b \uff0f'.split(' ');
const identifiers = fc
  .array(fc.constantFrom('a', 'b', ...separators, ...alike), { minLength: 1, maxLength: 4 })
  .map((parts) => parts.join('').trim())
  .filter((id) => id !== '');

/** Names that are all one text when their two parts are joined by the separator. */
function dividedBy(separator: string): readonly Name[] {
  const parts = ['a', 'b', 'a', 'b'];
  return [1, 2, 3].map((place) => [
    parts.slice(0, place).join(separator),
    parts.slice(place).join(separator),
  ]);
}

/** No two of them alike. */
const drawnNames = fc.uniqueArray(fc.tuple(identifiers, identifiers), {
  minLength: 2,
  maxLength: 16,
  selector: (name) => JSON.stringify(name),
});

const path = (tenantId: string, rest: string) => `/canonical/tenants/${tenantId}/${rest}`;
const post = (tenantId: string, rest: string, body: object) =>
  service.call({ method: 'POST', path: path(tenantId, rest), body });

/** Writes a document of every name, but for the first, and reads each by its own name and by no other. */
async function expectDocumentsApart(names: readonly Name[]): Promise<void> {
  const tenantId = freshTenant();
  const [unwritten, ...written] = names;
  const mutations = written.map(([documentType, id], n) => ({
    document: { tenantId, documentType, id, schemaVersion: '1', data: { n } },
  }));
  const committed = await post(tenantId, 'transactions', { idempotencyKey: 'k', mutations });
  expect(committed.status, committed.body).toBe(200);
  for (const [n, [documentType, id]] of written.entries()) {
    const { body } = await post(tenantId, 'documents/read', { documentType, id });
    expect(JSON.parse(body)).toMatchObject({ tenantId, documentType, id, data: { n }, revision: 1 });
    const revisions = await post(tenantId, 'documents/revisions', { documentType, id });
    expect(revisions.json<unknown[]>()).toHaveLength(1);
  }
  const [documentType, id] = unwritten ?? [];
  expect((await post(tenantId, 'documents/read', { documentType, id })).status).toBe(404);
}

/** Claims a fence of every name, each for another owner and by another commit: one that two share would be refused. */
async function expectFencesApart(names: readonly Name[]): Promise<void> {
  const tenantId = freshTenant();
  for (const [name, value] of names) {
    const idempotencyKey = JSON.stringify([name, value]);
    const fence = { name, value, ownerDocumentType: 'd', ownerDocumentId: idempotencyKey };
    const answer = await post(tenantId, 'transactions', { idempotencyKey, fences: [fence] });
    expect(answer.status, answer.body).toBe(200);
    expect(answer.json()).toMatchObject({ replayed: false, idempotencyKey });
  }
}

describe('E25: ids of bodies may hold every separator', () => {
  test('each document is read back by its own id and by no other', async () => {
    await forAll('documents', 60, drawnNames, expectDocumentsApart);
  });

  test('each fence and each idempotency key is one of its own', async () => {
    await forAll('fences', 60, drawnNames, expectFencesApart);
  });

  test.each(separators)('names that %j divides at another place are different names', async (separator) => {
    await expectDocumentsApart(dividedBy(separator));
    await expectDocumentsApart(dividedBy(separator).toReversed());
    await expectFencesApart(dividedBy(separator));
  });

  test('tenants whose names look alike share nothing', async () => {
    const tenants =
      'alike Alike ALIKE al\u00efke al\u0131ke alike. alike- alike~1 \uff41like __proto__ con'.split(' ');
    for (const [n, tenant] of tenants.entries()) {
      const document = { tenantId: tenant, documentType: 'd', id: 'i', schemaVersion: '1', data: { n } };
      const body = { tenantId: tenant, idempotencyKey: 'k', mutations: [{ document }] };
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
