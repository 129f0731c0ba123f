import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Json } from '../../contracts/generate/schema.ts';
import { type RunningService, startService } from '../support/service.ts';
import { requestsNaming } from './characters-requests.ts';
import { StoreContent } from './characters-store.ts';
import { type Belongings, furnishParty } from './characters-world.ts';
import { furnishObjects } from './object-belongings.ts';
import { type Party } from './party.ts';
import { RECORD, recordOf } from './record-belongings.ts';
import { salted } from './salt.ts';
import { contractModels } from './schema-set.ts';
import { allEntries, routesOf } from './target.ts';

/** A tenant and a space that have used up what they may store: each operation of the catalog is refused, or adds next to nothing. */

const frees = 'it frees bytes';
const acknowledges = 'it tells how a delivery went, and adds no more than that';
const ends = 'work that has begun can end';
const operator = 'it is of the operator, and stores nothing of an owner';

/** Operations that write and pass, with the reason. Another operation that writes is refused, and says so in the catalog. */
const spared: Readonly<Record<string, string>> = {
  leaseCanonicalOutbox: acknowledges,
  renewCanonicalOutboxLease: acknowledges,
  acknowledgeCanonicalOutbox: acknowledges,
  releaseCanonicalOutbox: acknowledges,
  replayCanonicalOutbox: acknowledges,
  applyCanonicalMigrations: operator,
  probeCanonicalStoreDataPlane: 'its tenants are its own, and it empties them',
  pruneExecutionRuntimeMaintenance: frees,
  reconcileExecutionRuntimeDispatch: operator,
  leaseExternalExecutionRun: ends,
  heartbeatExternalExecutionLease: ends,
  reportExternalExecutionLease: 'a run has one progress and one result, which its end could bring too',
  completeExternalExecutionLease: ends,
  releaseExternalExecutionLease: ends,
  cancelExecutionRun: ends,
  deleteCollection: frees,
  cancelRecordImportJob: ends,
  deleteRecord: frees,
  deleteObject: frees,
  cancelEmbeddingJob: ends,
  qualifyProvider: 'it goes without its traces, and what it proves is of the service',
  cancelProviderRunJob: ends,
  cancelRetrievalEvaluationJob: ends,
  cancelRagIngestionJob: ends,
  cancelGraphJob: ends,
  pruneTraces: frees,
};

/** Operations whose request is refused here for another reason: what it names is used up, or is none of a tenant. */
const unfit: ReadonlySet<string> = new Set([
  'releaseCanonicalOutbox',
  'releaseExternalExecutionLease',
  'applyCanonicalMigrations',
  'probeCanonicalStoreDataPlane',
  'getTrace',
]);

const CONTENT = 'x'.repeat(20_000);
/** Facts and times of a call that passes take less in all tables. */
const SLACK = 1_000;
/** Spared operations that add more than facts: what a run has once, and the run that deletes a collection. */
const additions: Readonly<Record<string, number>> = {
  reportExternalExecutionLease: CONTENT.length + SLACK,
  completeExternalExecutionLease: CONTENT.length + SLACK,
  deleteCollection: 5_000,
};

const folder = mkdtempSync(join(tmpdir(), 'svc-quotas-'));
const set = contractModels();
const party: Party = {
  tenantId: 'full',
  productId: 'shop',
  workerId: 'worker-1',
  mark: `mark-${randomUUID()}`,
  headers: {},
};

let service: RunningService;
let belongings: Belongings;
let content: StoreContent;
/** A snapshot of the same tenant with more data, from another deployment. */
let snapshot: object;
beforeAll(async () => {
  const before = await startService({ folder });
  await before.start();
  belongings = await furnishParty(before, party);
  await furnishObjects(before.call, party);
  await before.close();
  const settings = { 'Quotas:TenantBytesMax': '1', 'Quotas:SpaceBytesMax': '1' };
  service = await startService({ folder, settings });
  snapshot = await largerSnapshot();
  content = new StoreContent(folder);
});
afterAll(async () => {
  content.close();
  await service.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Bodies that add something where those of the examples do not. */
const larger: Readonly<Record<string, (body: object) => object>> = {
  upsertRecord: () => ({ ...recordOf(party, RECORD), content: { text: CONTENT } }),
  restoreCanonicalTenant: () => ({ snapshot }),
  waitExternalExecutionLease: (body) => ({
    ...body,
    kind: 'timer',
    fireAtUtc: '2027-01-01T00:00:00.000Z',
    timeoutAtUtc: null,
    payload: CONTENT,
  }),
  reportExternalExecutionLease: (body) => ({ ...body, update: { result: CONTENT } }),
};

async function largerSnapshot(): Promise<object> {
  const elsewhere = await startService();
  const path = `/canonical/tenants/${party.tenantId}`;
  const data = { text: CONTENT };
  const document = { tenantId: party.tenantId, documentType: 'order', id: '1', schemaVersion: '1', data };
  const body = { idempotencyKey: '1', mutations: [{ document }] };
  await elsewhere.call({ method: 'POST', path: `${path}/transactions`, body });
  const answer = await elsewhere.call({ method: 'GET', path: `${path}/export` });
  await elsewhere.close();
  return answer.json();
}

type Route = ReturnType<typeof routesOf>[number];

/** The example of the contract that names what the tenant has, with more content wherever the contract leaves its form free. */
function answerOf({ entry, route }: Route) {
  const [request] = requestsNaming({ set, entry, route }, party, belongings);
  if (request === undefined) throw new Error(`${entry.id} has no request`);
  const { requestSchema: model } = entry;
  if (model === null || typeof request.body !== 'string' || entry.requestMediaType !== 'application/json')
    return service.call(request);
  const body = JSON.parse(request.body) as Json;
  const make = larger[entry.id];
  return service.call({
    ...request,
    body:
      make === undefined
        ? salted(set, set.model(model), body, { free: CONTENT, fixed: {} })
        : make(body as object),
  });
}

/** The rows of the database and the files beside it: large bytes lie in files. */
function stored(): { readonly rows: ReadonlySet<string>; readonly files: readonly string[] } {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => !path.includes('.sqlite') && statSync(join(folder, path)).isFile())
    .sort();
  return { rows: content.rows(), files };
}

const bytesOf = ({ rows }: ReturnType<typeof stored>) =>
  [...rows].reduce((sum, row) => sum + Buffer.byteLength(row), 0);

/** Rows that a refused call may leave: where a restore was loaded, and that a space may need upkeep. */
const isTrifle = (row: string) =>
  ['spaces', 'sqlite_sequence'].includes(row.split('\u001F', 1)[0] ?? '') ||
  row.includes('\u001Fobject-spaces\u001F');

const routes = routesOf(allEntries);
/** Operations that need data come before those that remove it. */
const rank = ({ entry }: Route) => ['read', 'write', 'delete'].indexOf(entry.mutation);
const isRefused = ({ entry }: Pick<Route, 'entry'>) => entry.problems.includes('quota_exceeded');
const passing = routes.filter((route) => !isRefused(route)).sort((a, b) => rank(a) - rank(b));

test('each operation that writes is refused, or is spared for a reason', () => {
  const writes = allEntries.filter(({ mutation }) => mutation !== 'read');
  const ids = writes.filter((entry) => !isRefused({ entry })).map(({ id }) => id);
  expect(ids.filter((id) => spared[id] === undefined)).toEqual([]);
  expect(Object.keys(spared).filter((id) => !ids.includes(id))).toEqual([]);
});

describe('an owner that may store nothing more', () => {
  test.each(routes.filter(isRefused))('$name is refused, and nothing of it is done', async (route) => {
    const before = stored();
    const answer = await answerOf(route);
    const problem: Readonly<Record<string, unknown>> = answer.json();
    expect(problem['code'], answer.body).toBe('quota_exceeded');
    expect(answer.status).toBe(409);
    expect(problem).toMatchObject({ limit: 1, retryable: false });
    expect(problem['setting']).toMatch(/^Quotas:(Tenant|Space)BytesMax$/);
    expect(problem['used']).toBeGreaterThan(1);
    const after = stored();
    expect(after.files).toEqual(before.files);
    const added = [...after.rows].filter((row) => !before.rows.has(row) && !isTrifle(row));
    expect(added).toEqual([]);
  });

  test.each(passing)('$name passes, and adds little', async (route) => {
    const before = stored();
    const answer = await answerOf(route);
    const isRefusal = answer.status >= 400;
    expect(isRefusal, isRefusal ? answer.body : '').toBe(unfit.has(route.entry.id));
    expect(isRefusal ? answer.json<{ code?: string }>().code : null).not.toBe('quota_exceeded');
    const after = stored();
    expect(after.files.filter((path) => !before.files.includes(path))).toEqual([]);
    const growth = bytesOf(after) - bytesOf(before);
    const { id, mutation } = route.entry;
    expect(growth).toBeLessThanOrEqual(mutation === 'read' ? 0 : (additions[id] ?? SLACK));
  });

  test('may delete a document, and what it deletes is gone', async () => {
    const path = `/canonical/tenants/${party.tenantId}`;
    const mutations = [{ operation: 'delete', documentType: 'order', id: 'order-1001' }];
    const body = { idempotencyKey: 'delete', mutations };
    expect((await service.call({ method: 'POST', path: `${path}/transactions`, body })).status).toBe(200);
    const read = await service.call({ method: 'GET', path: `${path}/documents/order/order-1001` });
    expect(read.status).toBe(404);
  });
});
