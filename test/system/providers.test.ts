import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import type {
  CanonicalDocumentQueryResult,
  ServerReadinessReport,
} from '../../contracts/generated/models.ts';
import { createMysqlDatabase, mysqlMissing } from '../support/mysql.ts';
import { postgresMissing, postgresUrl } from '../support/postgres.ts';
import { type RunningService, startService } from '../support/service.ts';

const secret = 'hunter2-and-more';

async function withService(
  settings: Record<string, string>,
  ask: (service: RunningService) => Promise<void>,
): Promise<void> {
  const service = await startService({ settings: { 'Server:LogLevel': 'debug', ...settings } });
  try {
    await ask(service);
    expect(service.lines.join('\n')).not.toContain(secret);
  } finally {
    await service.close();
  }
}

function chosen(provider: string, connectionString: string): Record<string, string> {
  return { 'CanonicalStore:Provider': provider, 'CanonicalStore:ConnectionString': connectionString };
}

const post = (service: RunningService, path: string, body: object) =>
  service.call({ method: 'POST', path: `/canonical/tenants/acme${path}`, body });

/** A first commit, found again; what readiness says of the store. */
async function serves(service: RunningService): Promise<void> {
  const document = { tenantId: 'acme', documentType: 'claim', id: '1', schemaVersion: '1', data: { n: 1 } };
  const mutations = [{ operation: 'upsert', document: { ...document, indexes: { status: 'open' } } }];
  const key = `k-${randomUUID()}`;
  const committed = await post(service, '/transactions', { idempotencyKey: key, mutations });
  expect(committed.status).toBe(200);
  const found = await post(service, '/documents/query', { indexes: { status: 'open' } });
  expect(found.json<CanonicalDocumentQueryResult>().items).toMatchObject([{ id: '1', data: { n: 1 } }]);
  const readiness = await service.call({ method: 'GET', path: '/readiness' });
  expect(readiness.json<ServerReadinessReport>().ready).toBe(true);
}

describe('the provider that a setting names', () => {
  test.skipIf(postgresMissing !== undefined)(`postgresql ${postgresMissing ?? ''}`, () =>
    withService(chosen('postgresql', postgresUrl()), serves),
  );

  test.skipIf(mysqlMissing !== undefined)(`mysql ${mysqlMissing ?? ''}`, async () => {
    const database = await createMysqlDatabase();
    await withService(chosen('mysql', database.connectionString), serves);
    await database.drop();
  });

  test('without a canonical store there is no database, and its routes do not exist', async () => {
    await withService(
      {
        'CanonicalStore:Enabled': 'false',
        'CanonicalStore:Provider': 'mysql',
        // Their store is the same database, and readiness asks it.
        'Records:Enabled': 'false',
      },
      async (service) => {
        for (const path of ['/documents/query', '/transactions', '/outbox/leases']) {
          const answer = await post(service, path, {});
          expect([answer.status, answer.json<{ code: string }>().code]).toEqual([404, 'route_not_found']);
        }
        const openApi = await service.call({ method: 'GET', path: '/openapi/svc.json' });
        expect(Object.keys(openApi.json<{ paths: object }>().paths).join()).not.toContain('canonical');
        const readiness = await service.call({ method: 'GET', path: '/readiness' });
        expect(readiness.json<ServerReadinessReport>().ready).toBe(true);
      },
    );
  });
});

describe.each(['postgresql', 'mysql'])('%s that is not there', (provider) => {
  test('is not contacted before the first call', async () => {
    let contacts = 0;
    const server = createServer((socket) => {
      contacts += 1;
      socket.destroy();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const url = `${provider}://svc:${secret}@127.0.0.1:${port}/svc${provider === 'mysql' ? '' : '?sslmode=disable'}`;
    await withService(chosen(provider, url), async (service) => {
      expect((await service.call({ method: 'GET', path: '/health' })).status).toBe(200);
      expect(contacts).toBe(0);
      const answer = await post(service, '/documents/query', {});
      expect([answer.status, answer.json<{ code: string }>().code]).toEqual([503, 'unavailable']);
      expect(contacts).toBeGreaterThan(0);
      expect(answer.body).not.toContain(secret);
      const failures = service.lines.map((line) => (JSON.parse(line) as { failure?: string }).failure ?? '');
      expect(failures.join('\n')).toMatch(/^unavailable: ./m);
      const readiness = await service.call({ method: 'GET', path: '/readiness' });
      expect(readiness.json<ServerReadinessReport>().ready).toBe(false);
      expect(readiness.body).not.toContain(secret);
    });
    server.close();
  });

  test('is named by a malformed connection string: the first call answers 503 without quoting it', async () => {
    await withService(chosen(provider, `nonsense ${secret}`), async (service) => {
      const answer = await post(service, '/documents/query', {});
      expect(answer.status).toBe(503);
      expect(answer.body).not.toContain(secret);
    });
  });
});
