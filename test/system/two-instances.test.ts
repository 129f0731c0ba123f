import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type {
  CanonicalOutboxLeaseList,
  CanonicalOutboxQueryResult,
  CanonicalTransactionResult,
} from '../../contracts/generated/models.ts';
import { firestoreHost, firestoreMissing, firestoreProject } from '../support/firestore.ts';
import { HttpTenant } from '../support/http.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';

const missing = firestoreMissing === undefined ? '' : `, left out: ${firestoreMissing}`;

describe.skipIf(missing !== '')(`two processes over one Firestore${missing}`, () => {
  let servers: ServerProcess[];

  beforeAll(async () => {
    const env = {
      SVC_CANONICAL_STORE_PROVIDER: 'firestore',
      FIRESTORE_EMULATOR_HOST: firestoreHost(),
      GOOGLE_CLOUD_PROJECT: firestoreProject(),
    };
    servers = await Promise.all([startServer(env), startServer(env)]);
  });
  afterAll(async () => {
    for (const server of servers) expect(await server.stop()).toBe(0);
  });

  /** The same tenant through each of the two. */
  function tenantsOf(tenantId: string): [HttpTenant, HttpTenant] {
    const [one, other] = servers;
    if (one === undefined || other === undefined) throw new Error('two servers run');
    return [new HttpTenant(one.address, tenantId), new HttpTenant(other.address, tenantId)];
  }

  const upsert = (id: string, data: object, precondition: object | null = null) => ({
    id,
    data,
    precondition,
  });

  function transaction(key: string, tenantDocument: ReturnType<typeof upsert>, tenantId: string) {
    const { id, data, precondition } = tenantDocument;
    const document = { tenantId, documentType: 'claim', id, schemaVersion: '1', data };
    return {
      idempotencyKey: key,
      mutations: [{ operation: 'upsert', document, precondition }],
      outbox: [{ topic: 't', key: id, payload: { id } }],
    };
  }

  it('replay through the one what was committed through the other', async () => {
    const tenantId = `two-${randomUUID()}`;
    const [one, other] = tenantsOf(tenantId);
    const body = transaction('k', upsert('a', { n: 1 }), tenantId);
    const first = await one.post<CanonicalTransactionResult>('/transactions', body);
    const again = await other.post<CanonicalTransactionResult>('/transactions', body);
    expect(first.body.replayed).toBe(false);
    expect(again.body).toEqual({ ...first.body, replayed: true });
    const changed = transaction('k', upsert('a', { n: 2 }), tenantId);
    expect((await one.post<{ code: string }>('/transactions', changed)).body.code).toBe(
      'idempotency_conflict',
    );
    const stale = transaction('k2', upsert('a', {}, { mustNotExist: true }), tenantId);
    expect((await other.post('/transactions', stale)).status).toBe(412);
  });

  /** Rivals may win every attempt of a call; nothing is written then, and the caller tries again. */
  async function untilUncontended<Answer extends { readonly status: number; readonly body: unknown }>(
    send: () => Promise<Answer>,
  ): Promise<Answer> {
    for (;;) {
      const answer = await send();
      const { code } = answer.body as { code?: string };
      if (answer.status !== 503 || code !== 'store_contention') return answer;
    }
  }

  it('make one commit of twenty identical ones sent to both', async () => {
    const tenantId = `two-${randomUUID()}`;
    const [one, other] = tenantsOf(tenantId);
    const body = transaction('same', upsert('a', { n: 1 }), tenantId);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        untilUncontended(() =>
          (n % 2 === 0 ? one : other).post<CanonicalTransactionResult>('/transactions', body),
        ),
      ),
    );
    expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => 200));
    expect(answers.filter((answer) => !answer.body.replayed)).toHaveLength(1);
    expect(new Set(answers.map((answer) => answer.body.transactionId)).size).toBe(1);
    const events = await other.post<CanonicalOutboxQueryResult>('/outbox/query', {});
    expect(events.body.items).toHaveLength(1);
  });

  it('lease through the one, acknowledge through the other, page through both', async () => {
    const tenantId = `two-${randomUUID()}`;
    const [one, other] = tenantsOf(tenantId);
    for (const n of [1, 2, 3])
      await one.post('/transactions', transaction(`k${n}`, upsert(`d${n}`, {}), tenantId));
    const leases = await one.post<CanonicalOutboxLeaseList>('/outbox/leases', {
      consumerId: 'c',
      maxItems: 2,
    });
    expect(leases.body).toHaveLength(2);
    for (const { event, leaseToken } of leases.body) {
      const path = `/outbox/${encodeURIComponent(event.id)}/ack`;
      expect((await other.post(path, { leaseToken })).status).toBe(204);
      expect((await one.post(path, { leaseToken })).status).toBe(204);
    }
    const page = await one.post<CanonicalOutboxQueryResult>('/outbox/query', { limit: 2 });
    const { continuationToken } = page.body;
    const rest = await other.post<CanonicalOutboxQueryResult>('/outbox/query', {
      limit: 2,
      continuationToken,
    });
    expect([...page.body.items, ...rest.body.items]).toHaveLength(3);
    expect(rest.body.continuationToken).toBeNull();
  });
});
