import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type Commit, refused, START, TenantClient } from '../support/canonical.ts';
import type { Conformance } from './canonical-suite.ts';

export function describeCommit({ store }: Conformance): void {
  describe('commit', () => {
    it('writes documents, fence, event and receipt at one moment, in the order asked for', async () => {
      const tenant = new TenantClient(store());
      const result = await tenant.commit({
        idempotencyKey: 'k',
        correlationId: 'corr',
        actor: 'somebody',
        mutations: [
          tenant.upsert('b/1', { deep: [{ x: 1 }] }, { indexes: { status: 'open' } }),
          tenant.upsert('a'),
        ],
        fences: [
          { operation: 'claim', name: 'n', value: 'v', ownerDocumentType: 'claim', ownerDocumentId: 'b/1' },
        ],
        outbox: [
          { topic: 't', key: 'k', payload: { n: 1 } },
          { id: `own-${tenant.tenantId}`, topic: 't', key: 'k', headers: { h: 'v' } },
        ],
      });
      const now = new Date(START).toISOString();
      expect(result).toMatchObject({
        committedAtUtc: now,
        correlationId: 'corr',
        actor: 'somebody',
        replayed: false,
      });
      expect(result.documents.map((d) => [d.id, d.revision, d.createdAtUtc])).toEqual([
        ['b/1', 1, now],
        ['a', 1, now],
      ]);
      expect(result.outbox.map((e) => e.id)).toEqual([
        `${result.transactionId}:000`,
        `own-${tenant.tenantId}`,
      ]);
      expect(result.outbox[0]).toEqual({
        id: `${result.transactionId}:000`,
        tenantId: tenant.tenantId,
        transactionId: result.transactionId,
        topic: 't',
        key: 'k',
        payload: { n: 1 },
        headers: {},
        notBeforeUtc: null,
        deliveryCount: 0,
        deliveredAtUtc: null,
        leaseOwner: null,
        leaseExpiresAtUtc: null,
        maxDeliveryAttempts: null,
        deadLetteredAtUtc: null,
        lastError: null,
      });
      expect(await tenant.otherInstance().read('claim', 'b/1')).toEqual(result.documents[0]);
    });

    it('keeps every revision, deletes included, newest first', async () => {
      const tenant = new TenantClient(store());
      await tenant.commit({ mutations: [tenant.upsert('a', { n: 1 }, { indexes: { s: 'x' } })] });
      tenant.advance(5);
      await tenant.commit({ mutations: [tenant.upsert('a', { n: 2 })] });
      tenant.advance(5);
      const last = await tenant.commit({ mutations: [tenant.remove('a')] });
      const revisions = await tenant.revisions('claim', 'a');
      expect(revisions.map((r) => [r.revision, r.operation, r.document.data, r.document.indexes])).toEqual([
        [3, 'delete', null, {}],
        [2, 'upsert', { n: 2 }, {}],
        [1, 'upsert', { n: 1 }, { s: 'x' }],
      ]);
      expect(revisions[0]).toMatchObject({
        transactionId: last.transactionId,
        recordedAtUtc: last.committedAtUtc,
        document: last.documents[0],
      });
      expect(await tenant.revisions('claim', 'a', 2)).toEqual(revisions.slice(0, 2));
      expect(await tenant.revisions('claim', 'unknown')).toEqual([]);
    });

    it('shows a tombstone only to those who ask for it, with its schema version', async () => {
      const tenant = new TenantClient(store());
      await tenant.commit({ mutations: [tenant.upsert('a', { n: 1 }, { indexes: { s: 'x' } })] });
      await tenant.commit({ mutations: [tenant.remove('a')] });
      await refused('not_found', tenant.read('claim', 'a'));
      expect(await tenant.read('claim', 'a', true)).toMatchObject({
        deleted: true,
        data: null,
        indexes: {},
        schemaVersion: 'v1',
        revision: 2,
      });
      await refused('not_found', tenant.read('claim', 'never', true));
    });

    it('leaves nothing behind when one part of it fails', async () => {
      const tenant = new TenantClient(store());
      const failing = tenant.commit({
        mutations: [tenant.upsert('a'), tenant.upsert('b', {}, { precondition: { expectedRevision: 1 } })],
        fences: [
          { operation: 'claim', name: 'n', value: 'v', ownerDocumentType: 'claim', ownerDocumentId: 'a' },
        ],
        outbox: [{ topic: 't', key: 'k' }],
      });
      const error = await refused('precondition_failed', failing);
      expect(error.extensions).toMatchObject({
        errors: [{ pointer: '/mutations/1/precondition' }],
        currentRevision: null,
      });
      await refused('not_found', tenant.read('claim', 'a', true));
      expect(await tenant.revisions('claim', 'a')).toEqual([]);
      expect((await tenant.queryOutbox()).items).toEqual([]);
      await tenant.commit({
        fences: [
          { operation: 'claim', name: 'n', value: 'v', ownerDocumentType: 'other', ownerDocumentId: 'b' },
        ],
      });
    });

    it('keeps tenants apart, down to the same ids and fences', async () => {
      const one = new TenantClient(store());
      const other = new TenantClient(store());
      const fence = { name: 'n', value: 'v', ownerDocumentType: 'claim', ownerDocumentId: 'a' };
      for (const tenant of [one, other]) {
        await tenant.commit({
          mutations: [
            tenant.upsert('a', { tenant: tenant.tenantId }, { precondition: { mustNotExist: true } }),
          ],
          fences: [{ operation: 'claim', ...fence }],
          outbox: [{ id: 'same', topic: 't', key: 'k' }],
        });
      }
      expect((await one.read('claim', 'a')).data).toEqual({ tenant: one.tenantId });
      expect((await one.lease({ maxItems: 100 })).map((l) => l.event.tenantId)).toEqual([one.tenantId]);
    });

    it('carries a hundred documents, fences and events at once', async () => {
      const tenant = new TenantClient(store());
      const numbers = Array.from({ length: 100 }, (_, n) => n);
      const request: Commit = {
        idempotencyKey: 'hundred',
        mutations: numbers.map((n) =>
          tenant.upsert(`d${n}`, { n, text: 'x'.repeat(500) }, { indexes: { n: `${n}` } }),
        ),
        fences: numbers.map((n) => ({
          operation: 'claim' as const,
          name: 'n',
          value: `${n}`,
          ownerDocumentType: 'claim',
          ownerDocumentId: `d${n}`,
        })),
        outbox: numbers.map((n) => ({ topic: 't', key: `d${n}`, payload: { n } })),
      };
      const result = await tenant.commit(request);
      expect(result.documents).toHaveLength(100);
      expect(await tenant.commit(request)).toEqual({ ...result, replayed: true });
      expect((await tenant.lease({ maxItems: 100 })).map((l) => l.event.id)).toEqual(
        result.outbox.map((e) => e.id),
      );
    });

    it.each<[string, string, string, (tenant: TenantClient) => Commit]>([
      ['nothing at all', 'validation_failed', '', () => ({})],
      [
        'a document twice',
        'duplicate_in_request',
        '/mutations/1',
        (t) => ({ mutations: [t.upsert('a'), t.remove('a')] }),
      ],
      [
        'another tenant',
        'tenant_mismatch',
        '/mutations/0/document/tenantId',
        (t) => ({
          mutations: [t.upsert('a', {}, { tenantId: 'other' })],
        }),
      ],
      [
        'a tombstone as an upsert',
        'validation_failed',
        '/mutations/0/document/deleted',
        (t) => ({
          mutations: [t.upsert('a', {}, { deleted: true })],
        }),
      ],
      [
        'an upsert without document',
        'validation_failed',
        '/mutations/0/document',
        () => ({
          mutations: [{ operation: 'upsert' }],
        }),
      ],
      [
        'a delete with document',
        'validation_failed',
        '/mutations/0/document',
        (t) => ({
          mutations: [{ ...t.upsert('a'), operation: 'delete' }],
        }),
      ],
      [
        'names that contradict the document',
        'validation_failed',
        '/mutations/0/id',
        (t) => ({
          mutations: [{ ...t.upsert('a'), id: 'b' }],
        }),
      ],
      [
        'mustExist with mustNotExist',
        'validation_failed',
        '/mutations/0/precondition',
        (t) => ({
          mutations: [t.upsert('a', {}, { precondition: { mustExist: true, mustNotExist: true } })],
        }),
      ],
      [
        'a blank id',
        'validation_failed',
        '/mutations/0/document/id',
        (t) => ({ mutations: [t.upsert('  ')] }),
      ],
      [
        'a control character',
        'validation_failed',
        '/mutations/0/document/id',
        (t) => ({ mutations: [t.upsert('a\u0085b')] }),
      ],
      [
        'a lone surrogate',
        'validation_failed',
        '/mutations/0/document/id',
        (t) => ({ mutations: [t.upsert('a\ud800b')] }),
      ],
      [
        'an id of 161 characters',
        'limit_exceeded',
        '/mutations/0/document/id',
        (t) => ({
          mutations: [t.upsert('x'.repeat(161))],
        }),
      ],
      [
        'an id of 401 bytes',
        'limit_exceeded',
        '/mutations/0/document/id',
        (t) => ({
          mutations: [t.upsert(`${'€'.repeat(133)}xx`)],
        }),
      ],
      [
        'seventeen indexes',
        'limit_exceeded',
        '/mutations/0/document/indexes',
        (t) => ({
          mutations: [
            t.upsert(
              'a',
              {},
              { indexes: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`i${n}`, 'v'])) },
            ),
          ],
        }),
      ],
      [
        'an index value of 901 bytes',
        'limit_exceeded',
        '/mutations/0/document/indexes/a~1b',
        (t) => ({
          mutations: [t.upsert('a', {}, { indexes: { 'a/b': 'x'.repeat(901) } })],
        }),
      ],
      [
        'data over its limit',
        'limit_exceeded',
        '/mutations/0/document/data',
        (t) => ({
          mutations: [t.upsert('a', { x: 'x'.repeat(900_000) })],
        }),
      ],
      [
        'a payload over its limit',
        'limit_exceeded',
        '/outbox/0/payload',
        () => ({
          outbox: [{ topic: 't', key: 'k', payload: 'x'.repeat(900_000) }],
        }),
      ],
      [
        'an event id twice',
        'duplicate_in_request',
        '/outbox/1',
        () => ({
          outbox: [
            { id: 'e', topic: 't', key: 'k' },
            { id: ' e ', topic: 't', key: 'k' },
          ],
        }),
      ],
      [
        'a blank header',
        'validation_failed',
        '/outbox/0/headers/a~1b',
        () => ({ outbox: [{ topic: 't', key: 'k', headers: { 'a/b': ' ' } }] }),
      ],
      [
        'an event id that a path cannot carry',
        'invalid_path_segment',
        '/outbox/0/id',
        () => ({ outbox: [{ id: 'a\u200db', topic: 't', key: 'k' }] }),
      ],
      [
        'an event id that another event of the request is given',
        'duplicate_in_request',
        '/outbox/1',
        () => ({
          outbox: [
            { id: 'same', topic: 't', key: 'k' },
            { id: ' same ', topic: 't', key: 'k' },
          ],
        }),
      ],
      [
        'an event id that the commit of another caller is given',
        'validation_failed',
        '/outbox/0/id',
        (t) => ({
          outbox: [{ id: `${transactionIdOf(t.tenantId, 'of another')}:000`, topic: 't', key: 'k' }],
        }),
      ],
      [
        'an event id that is no path segment',
        'invalid_path_segment',
        '/outbox/0/id',
        () => ({
          outbox: [{ id: 'a/b', topic: 't', key: 'k' }],
        }),
      ],
      [
        'a moment that is none',
        'validation_failed',
        '/outbox/0/notBeforeUtc',
        () => ({
          outbox: [{ topic: 't', key: 'k', notBeforeUtc: '2026-06-30T23:59:60Z' }],
        }),
      ],
    ])('refuses %s', async (_, code, pointer, request) => {
      const tenant = new TenantClient(store());
      const error = await refused(code, tenant.commit(request(tenant)));
      expect(error.extensions.errors?.[0]?.pointer).toBe(pointer);
    });

    it('leads from page to page of the revisions, to the first one', async () => {
      const tenant = new TenantClient(store());
      for (let n = 0; n < 7; n++) await tenant.commit({ mutations: [tenant.upsert('a/b', { n })] });
      await tenant.commit({ mutations: [tenant.upsert('other', {})] });
      const of = { documentType: 'claim', id: 'a/b' };
      const seen: number[][] = [];
      let query: { limit?: number; beforeRevision?: number } = {};
      for (let next: URLSearchParams | null = new URLSearchParams('limit=3'); next !== null; ) {
        const page = await tenant.revisionPage(query, { ...of, limit: 3 });
        seen.push(page.revisions);
        next = page.next;
        query = { limit: Number(next?.get('limit')), beforeRevision: Number(next?.get('beforeRevision')) };
      }
      expect(seen).toEqual([[7, 6, 5], [4, 3, 2], [1]]);
      // Neither a page that ends with the first revision nor one before it has a next.
      for (const [beforeRevision, revisions] of [
        [4, [3, 2, 1]],
        [1, []],
        [2 ** 53 - 1, [7, 6, 5]],
      ] as const) {
        const page = await tenant.revisionPage({}, { ...of, limit: 3, beforeRevision });
        expect([page.revisions, page.next !== null]).toEqual([revisions, revisions[0] === 7]);
      }
      const { link } = await tenant.revisionPage({}, { ...of, limit: 6 });
      expect(link).toBe(
        `</canonical/tenants/${tenant.tenantId}/documents/claim/a%2Fb/revisions?limit=6&beforeRevision=2>; rel="next"`,
      );
    });

    it('lists all revisions asked for, however large they are', async () => {
      const tenant = new TenantClient(store());
      for (let n = 0; n < 46; n++)
        await tenant.commit({ mutations: [tenant.upsert('a', { text: `${n}`.repeat(440_000) })] });
      expect((await tenant.revisions('claim', 'a')).map((r) => r.revision)).toEqual(
        Array.from({ length: 46 }, (_, n) => 46 - n),
      );
    });
  });
}

/** As the contract derives it: every client can compute the ids of a transaction's events. */
function transactionIdOf(tenantId: string, idempotencyKey: string): string {
  return `ctx_${createHash('sha256').update(`${tenantId}\n${idempotencyKey}`).digest('hex').slice(0, 32)}`;
}
