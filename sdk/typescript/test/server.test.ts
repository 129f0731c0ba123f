import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { problems } from '../../../contracts/generated/errors.ts';
import { operations } from '../../../contracts/generated/operations.ts';
import { type ServerProcess, startServer } from '../../../test/support/server-process.ts';
import golden from '../../wire/requests.json' with { type: 'json' };
import {
  APIStatusError,
  APITimeoutError,
  BadRequestError,
  type CanonicalTransactionRequest,
  ConflictError,
  NotFoundError,
  PreconditionFailedError,
  SvcClient,
} from '../src/index.ts';
import { thrown } from './stage.ts';
import { call } from './wire.ts';

const folder = mkdtempSync(join(tmpdir(), 'sdk-server-'));
let server: ServerProcess;
let client: SvcClient;

beforeAll(async () => {
  server = await startServer({ SVC_DATA_DIR: folder }, [
    'ExecutionRuntime:ExternalHandlers:0:HandlerId=work',
  ]);
  client = new SvcClient({ baseUrl: server.address, apiKey: null, token: null });
});

afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

let tenants = 0;
const freshTenant = () => `t-${(tenants += 1)}`;

interface Claim {
  readonly status: string;
  readonly amountCents: number;
}

function creation(tenantId: string, id: string, data: Claim): CanonicalTransactionRequest {
  const document = {
    tenantId,
    documentType: 'claim',
    id,
    schemaVersion: '1',
    data,
    indexes: { status: data.status },
  };
  return {
    idempotencyKey: `create-${id}`,
    mutations: [{ document, precondition: { mustNotExist: true } }],
    outbox: [{ topic: 'claim.created', key: id, payload: data }],
  };
}

const MIGRATION = { namespace: 'n', id: '1', checksum: 'c' };
const open: Claim = { status: 'open', amountCents: 125_000 };

describe('a real service', () => {
  test('commits once, also when several callers repeat it', async () => {
    const tenant = freshTenant();
    const first = await client.commitCanonicalTransaction(tenant, creation(tenant, '1', open));
    expect(first).toMatchObject({ tenantId: tenant, replayed: false });
    const { data, response } = await client
      .commitCanonicalTransaction(tenant, creation(tenant, '1', open), { correlationId: 'again-1' })
      .withResponse();
    expect(data).toEqual({ ...first, replayed: true });
    expect(response.headers.get('idempotency-replayed')).toBe('true');
    expect(response.correlationId).toBe('again-1');
    const document = await client.getCanonicalDocument(tenant, { documentType: 'claim', id: '1' });
    expect(document).toMatchObject({ revision: 1, data: open });
  });

  test('refuses with the codes of the contract', async () => {
    const tenant = freshTenant();
    await client.commitCanonicalTransaction(tenant, creation(tenant, '1', open));
    const other = client.commitCanonicalTransaction(
      tenant,
      creation(tenant, '1', { ...open, amountCents: 1 }),
    );
    expect(await thrown(other, ConflictError)).toMatchObject({
      code: 'idempotency_conflict',
      retryable: false,
    });
    const again = { ...creation(tenant, '1', open), idempotencyKey: 'another' };
    expect(
      await thrown(client.commitCanonicalTransaction(tenant, again), PreconditionFailedError),
    ).toMatchObject({
      code: 'precondition_failed',
    });
    const absent = client.getCanonicalDocument(
      tenant,
      { documentType: 'claim', id: 'absent' },
      { correlationId: 'c-404' },
    );
    expect(await thrown(absent, NotFoundError)).toMatchObject({ code: 'not_found', correlationId: 'c-404' });
    const misspelt = { documentType: 'claim', limt: 1 } as object;
    expect(await thrown(client.queryCanonicalDocuments(tenant, misspelt), BadRequestError)).toMatchObject({
      errors: [{ pointer: '/limt', keyword: 'additionalProperties' }],
    });
    expect(await thrown(client.exportCanonicalTenant('a/b'), BadRequestError)).toMatchObject({
      code: 'invalid_path_segment',
    });
  });

  test('pages to the end', async () => {
    const tenant = freshTenant();
    const ids = Array.from({ length: 7 }, (_, index) => `c-${index}`);
    for (const id of ids) await client.commitCanonicalTransaction(tenant, creation(tenant, id, open));
    const query = { documentType: 'claim', indexes: { status: 'open' }, limit: 3 };
    const found = await client.queryCanonicalDocuments(tenant, query).all();
    expect(found.map(({ id }) => id)).toEqual(ids);
    const sizes: number[] = [];
    for await (const { items } of client.queryCanonicalDocuments(tenant, query).pages())
      sizes.push(items.length);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(7);
    expect(sizes.length).toBeGreaterThan(2);
    const events = await client.queryCanonicalOutbox(tenant, { limit: 2 }).all();
    expect(events.map(({ key }) => key).toSorted()).toEqual(ids);
  });

  test('delivers its outbox, ids with a colon included', async () => {
    const tenant = freshTenant();
    await client.commitCanonicalTransaction(tenant, creation(tenant, '1', open));
    const [lease] = await client.leaseCanonicalOutbox(tenant, { consumerId: 'me', leaseSeconds: 30 });
    const { event, leaseToken } = lease ?? expect.fail('nothing was leased');
    expect(event).toMatchObject({ topic: 'claim.created', payload: open, id: expect.stringContaining(':') });
    await client.renewCanonicalOutboxLease(tenant, event.id, { leaseToken, leaseSeconds: 60 });
    expect(await client.acknowledgeCanonicalOutbox(tenant, event.id, { leaseToken })).toBeNull();
    const stale = client.releaseCanonicalOutbox(tenant, event.id, { leaseToken: 'another' });
    expect(await thrown(stale, ConflictError)).toMatchObject({ status: 409 });
    const [state] = await client.queryCanonicalOutbox(tenant, { state: 'delivered' }).all();
    expect(state?.id).toBe(event.id);
  });

  test('copies a tenant byte for byte', async () => {
    const tenant = freshTenant();
    await client.commitCanonicalTransaction(
      tenant,
      creation(tenant, 'ä/1', { status: 'open', amountCents: 0.1 + 0.2 }),
    );
    const snapshot = await client.exportCanonicalTenant(tenant);
    await client.restoreCanonicalTenant(tenant, { snapshot, expectedContentHash: snapshot.contentHash });
    expect(await client.exportCanonicalTenant(tenant)).toMatchObject({ contentHash: snapshot.contentHash });
  });

  test('describes its release and its operations', async () => {
    expect(await client.health()).toMatchObject({ status: 'ok' });
    expect(await client.readiness()).toMatchObject({ ready: true });
    expect(await client.openApiContract()).toMatchObject({ openapi: '3.1.0' });
    const { response } = await client.getPublicSchemaContract().withResponse();
    expect(response.headers.get('content-type')).toContain('application/schema+json');
    expect(await client.getCanonicalPreflight()).toMatchObject({ provider: 'sqlite', dataPlaneProbe: null });
    expect((await client.probeCanonicalDataPlane()).dataPlaneProbe).not.toBeNull();
    await client.applyCanonicalMigrations([MIGRATION]);
    expect(await client.listCanonicalMigrations()).toMatchObject([{ namespace: 'n', id: '1' }]);
  });
});

/** The codes of an invalid request, independent of stored data. */
const misshapen = new Set(
  'malformed_request invalid_path_segment validation_failed limit_exceeded tenant_mismatch route_not_found method_not_allowed unsupported_media_type headers_too_large internal_error'.split(
    ' ',
  ),
);

describe('waiting for a run at a real service', () => {
  test('ends with the run, and times out if the run does not end', async () => {
    const run = await client.startExecutionRun({ handlerId: 'work', payload: {} });
    await thrown(client.waitForExecutionRun(run.id, { waitTimeout: 1 / 3 }), APITimeoutError);
    const wait = client.waitForExecutionRun(run.id, { waitTimeout: 60_000 });
    await client.cancelExecutionRun(run.id);
    expect(await wait).toMatchObject({ id: run.id, status: 'cancelled' });
  });
});

/** Members of one request may exclude each other. A schema violation has a keyword. */
function isOfRule({ code, errors }: APIStatusError): boolean {
  return (
    code === 'validation_failed' && errors.length > 0 && errors.every(({ keyword }) => keyword === undefined)
  );
}

describe('every request that the SDKs are held to', () => {
  const cases = golden.cases;

  test('the codes are those of the contract', () => {
    for (const code of misshapen) expect(problems).toHaveProperty(code);
  });

  test.each([{ more: 1 }, { mutations: 'no' }, { outbox: [{ topic: 1 }] }, {}])(
    'the error of a request with a wrong shape differs from that of one that breaks a rule: %j',
    async (odd) => {
      const request = odd as unknown as CanonicalTransactionRequest;
      const error = await thrown(client.commitCanonicalTransaction('t', request), BadRequestError);
      expect([error.code, isOfRule(error)]).toEqual(['validation_failed', false]);
    },
  );

  test.each(cases.map((each) => [each.operation, each.case, each] as const))(
    'is one that a real service understands: %s, %s',
    async (id, kind, each) => {
      const error: unknown = await call(client, each).catch((reason: unknown) => reason);
      if (error === undefined) return;
      if (!(error instanceof APIStatusError)) throw error;
      const isShapely = kind === 'everything' && isOfRule(error);
      if (!isShapely) expect(misshapen).not.toContain(error.code);
      expect(operations[id as keyof typeof operations].problems).toContain(error.code);
    },
  );
});
