import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningService, startService } from '../support/service.ts';
import { requestsNaming } from './characters-requests.ts';
import { type Belongings, furnishParty, type Party } from './characters-world.ts';
import { furnishObjects } from './object-belongings.ts';
import { RECORD, recordOf } from './record-belongings.ts';
import { contractModels } from './schema-set.ts';
import { allEntries, routesOf } from './target.ts';

/** A tenant and a space that have used up what they may store: what adds is refused, and what frees or ends passes. */

const folder = mkdtempSync(join(tmpdir(), 'svc-quotas-'));
const set = contractModels();
const party: Party = {
  tenantId: 'full',
  productId: 'shop',
  workerId: 'worker-1',
  mark: `mark-${randomUUID()}`,
  headers: {},
};
const limits = { 'Quotas:TenantBytesMax': '1', 'Quotas:SpaceBytesMax': '1' };

let service: RunningService;
let belongings: Belongings;
/** Of the same tenant with more data, from another deployment. */
let snapshot: object;
beforeAll(async () => {
  const before = await startService({ folder });
  await before.start();
  belongings = await furnishParty(before, party);
  await furnishObjects(before.call, party);
  await before.close();
  service = await startService({ folder, settings: limits });
  snapshot = await largerSnapshot();
});
afterAll(async () => {
  await service.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Requests that add something where those of the other tests do not. */
const larger: Readonly<Record<string, (body: object) => object>> = {
  upsertRecord: () => ({ ...recordOf(party, RECORD), content: { text: 'x'.repeat(5_000) } }),
  restoreCanonicalTenant: () => ({ snapshot }),
  waitExternalExecutionLease: (body) => ({
    ...body,
    kind: 'timer',
    fireAtUtc: '2027-01-01T00:00:00.000Z',
    timeoutAtUtc: null,
    payload: 'x'.repeat(2_000),
  }),
};

async function largerSnapshot(): Promise<object> {
  const elsewhere = await startService();
  const path = `/canonical/tenants/${party.tenantId}`;
  const data = { text: 'x'.repeat(20_000) };
  const document = { tenantId: party.tenantId, documentType: 'order', id: '1', schemaVersion: '1', data };
  const body = { idempotencyKey: '1', mutations: [{ document }] };
  await elsewhere.call({ method: 'POST', path: `${path}/transactions`, body });
  const answer = await elsewhere.call({ method: 'GET', path: `${path}/export` });
  await elsewhere.close();
  return answer.json();
}

const codeOf = async (name: string): Promise<string> => {
  const { entry, route } = routes.find((each) => each.name === name) as (typeof routes)[number];
  const [request] = requestsNaming({ set, entry, route }, party, belongings);
  if (request === undefined) throw new Error(`${name} has no request`);
  const make = larger[entry.id];
  const body = make === undefined ? request.body : make(JSON.parse(String(request.body)) as object);
  const answer = await service.call({ ...request, body });
  if (answer.status < 400) return `${answer.status}`;
  const { code, limit, setting, used }: Readonly<Record<string, unknown>> = answer.json();
  if (code !== 'quota_exceeded') return String(code);
  expect(limit).toBe(1);
  expect(setting).toMatch(/^Quotas:(Tenant|Space)BytesMax$/);
  expect(used).toBeGreaterThan(1);
  return code;
};

const routes = routesOf(allEntries);
const growing = routes.filter(({ entry }) => entry.problems.includes('quota_exceeded'));
const others = routes.filter((route) => !growing.includes(route));

describe('an owner that may store nothing more', () => {
  test.each(growing.map(({ name }) => name))('%s is refused', async (name) => {
    expect(await codeOf(name)).toBe('quota_exceeded');
  });

  test.each(others.map(({ name }) => name))('%s passes', async (name) => {
    expect(await codeOf(name)).not.toBe('quota_exceeded');
  });

  test('may delete a document, and end its runs', async () => {
    const path = `/canonical/tenants/${party.tenantId}`;
    const mutations = [{ operation: 'delete', documentType: 'order', id: 'order-1001' }];
    const body = { idempotencyKey: 'delete', mutations };
    expect((await service.call({ method: 'POST', path: `${path}/transactions`, body })).status).toBe(200);
  });
});

test('a job that meets the limit ends as failed, and says why', async () => {
  const space = await startService({ settings: { 'Quotas:SpaceBytesMax': '60000' } });
  await space.start();
  const vectorPolicies = [{ name: 'v', path: '/vectors/v/values', dimensions: 384 }];
  const created = await space.call({
    method: 'POST',
    path: '/collections',
    body: { name: 'library', vectorPolicies },
  });
  await space.ended({ method: 'GET', path: `/execution/runs/${created.json<{ id: string }>().id}` });
  const body = {
    documentId: 'd',
    partitionKey: 'p',
    text: 'word '.repeat(4_000),
    options: { chunkChars: 400 },
  };
  const path = '/collections/library/rag/ingest-text/jobs';
  const started = await space.call({ method: 'POST', path, body });
  expect(started.status, started.body).toBe(202);
  const { id } = started.json<{ id: string }>();
  const job = await space.ended({ method: 'GET', path: `/rag/ingestion/jobs/${id}` });
  expect(job.json()).toMatchObject({ status: 'failed' });
  expect(job.body).toContain('quota_exceeded');
  await space.close();
});

test('a write that brings a tenant to 80 % of its bytes is in the log, without a name', async () => {
  const settings = { 'Quotas:TenantBytesMax': '20000', 'Server:LogLevel': 'warning' };
  const near = await startService({ settings });
  const write = (id: string, length: number) => {
    const data = { text: 'x'.repeat(length) };
    const document = { tenantId: 'secret-name', documentType: 'order', id, schemaVersion: '1', data };
    const body = { idempotencyKey: id, mutations: [{ document }] };
    return near.call({ method: 'POST', path: '/canonical/tenants/secret-name/transactions', body });
  };
  const lines = () => near.lines.filter((line) => line.includes('has stored 80 %'));
  expect((await write('1', 1_000)).status).toBe(200);
  expect(lines()).toEqual([]);
  for (const id of ['2', '3']) expect((await write(id, 6_000)).status).toBe(id === '2' ? 200 : 409);
  expect(lines()).toHaveLength(1);
  expect(lines()[0]).not.toContain('secret-name');
  expect(JSON.parse(lines()[0] ?? '')).toMatchObject({ severity: 'WARNING' });
  await near.close();
});
