import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CanonicalPreflightReport } from '../../../../contracts/generated/models.ts';
import { operations } from '../../../../contracts/generated/operations.ts';
import { loadValidators } from '../../../../contracts/generated/validators/load.ts';
import { handlersOver, START } from '../../../../test/support/canonical.ts';
import {
  type IssuedService,
  serviceAudience,
  startIssuedService,
} from '../../../../test/support/issued-service.ts';
import { type RunningService, startService } from '../../../../test/support/service.ts';
import { machine } from '../../../compose/machine.ts';
import { createChain } from '../../../http/chain.ts';
import { inject } from '../../../http/host-inject.ts';
import { anonymous } from '../../../identity/authenticator.ts';
import { StoreError } from '../../../store/port.ts';
import type { CanonicalConfiguration } from '../dependencies.ts';
import { preflightReport, preflightStatus, probeResult } from './preflight.ts';

const path = '/canonical/preflight';
const look = { method: 'GET', path };
const probe = { method: 'POST', path: `${path}/probe` };
const passing = { restored: true, isolated: true, cleaned: true, archiveChunkCount: 9 };

const production: CanonicalConfiguration = {
  development: false,
  provider: 'sqlite',
  authenticationMode: 'google-oidc',
  identityPolicyCount: 2,
  tenantPoliciesEnforced: true,
  messageBytesMax: null,
  limitOf: () => ({ bytes: 1_000_000, setting: 'Quotas:TenantBytesMax' }),
  rateLimit: { permitLimit: 120, windowSeconds: 60 },
};

describe('the report', () => {
  const found = { store: 'sqlite', migrationReceiptCount: 14 };
  const statusOf = (change: Partial<CanonicalConfiguration>, findings: typeof passing | null = null) => {
    const configuration = { ...production, ...change };
    const result = findings && probeResult(findings, START, 1);
    return preflightStatus(configuration, preflightReport(configuration, found, result));
  };

  test('is 503 where no policy guards the tenants outside Development', () => {
    expect(statusOf({})).toBe(200);
    expect(statusOf({ tenantPoliciesEnforced: false })).toBe(503);
    expect(statusOf({ tenantPoliciesEnforced: false, development: true })).toBe(200);
    expect(statusOf({ tenantPoliciesEnforced: false }, passing)).toBe(503);
  });

  test.each(['restored', 'isolated', 'cleaned'] as const)(
    'is 503 where the probe did not prove %s',
    (finding) => {
      const findings = { ...passing, [finding]: false };
      expect(statusOf({ development: true }, findings)).toBe(503);
      expect(probeResult(findings, START, 1)).toMatchObject({ ready: false, status: 'failed' });
    },
  );

  test('has one fixed text for each outcome of each check', () => {
    const passed = probeResult(passing, START, 1).checks;
    const failed = probeResult(
      { restored: false, isolated: false, cleaned: false, archiveChunkCount: 0 },
      START,
      1,
    ).checks;
    expect(passed.map(({ id }) => id)).toEqual([
      'canonical.archive_restore',
      'canonical.tenant_isolation',
      'canonical.probe_cleanup',
    ]);
    expect(new Set([...passed, ...failed].map(({ message }) => message)).size).toBe(6);
    expect(probeResult(passing, START, 1).archiveChunkCount).toBe(9);
  });

  test('lasts no time where a clock was set back', () => {
    expect(probeResult(passing, START, -5).durationMs).toBe(0);
    expect(probeResult(passing, START, 5).durationMs).toBe(5);
  });
});

describe('over HTTP in Development', () => {
  let service: RunningService;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service.close());

  test('answers with what it found', async () => {
    const answer = await service.call(look);
    expect(answer.status).toBe(200);
    expect(answer.json()).toEqual({
      store: 'sqlite',
      provider: 'sqlite',
      authenticationMode: 'google-oidc',
      tenantPoliciesEnforced: false,
      identityPolicyCount: 0,
      migrationReceiptCount: 0,
      rateLimitPermitLimit: 100_000,
      rateLimitWindowSeconds: 1,
      requiredOperations: ['read', 'write', 'dispatch', 'export', 'restore', 'admin'],
      dataPlaneProbe: null,
    });
  });

  test('probes, and counts the ledger', async () => {
    const migrations = [{ namespace: 'n', id: '1', checksum: 'sha256:1' }];
    const apply = { method: 'POST', path: '/canonical/migrations' };
    expect((await service.call({ ...apply, body: migrations })).status).toBe(204);
    expect((await service.call({ ...apply, body: [] })).status).toBe(204);
    const conflict = await service.call({ ...apply, body: [{ ...migrations[0], checksum: 'other' }] });
    expect([conflict.status, conflict.json()]).toMatchObject([
      409,
      { code: 'migration_checksum_conflict', retryable: false, errors: [{ pointer: '/0/checksum' }] },
    ]);
    const ledger = await service.call({ method: 'GET', path: '/canonical/migrations' });
    expect(ledger.json()).toEqual([
      { ...migrations[0], description: null, appliedAtUtc: expect.stringMatching(/^\d{4}-.*Z$/) },
    ]);
    const answer = await service.call(probe);
    expect([answer.status, answer.json()]).toMatchObject([
      200,
      { migrationReceiptCount: 1, dataPlaneProbe: { ready: true, status: 'passed', archiveChunkCount: 5 } },
    ]);
  });
});

describe('over HTTP outside Development', () => {
  const admin = 'admin@example.com';
  const reader = 'reader@example.com';
  let service: IssuedService;
  beforeAll(async () => {
    service = await startIssuedService([
      { principal: admin, tenants: ['*'], operations: ['admin'] },
      { principal: reader, tenants: ['*'], operations: ['read', 'write', 'export'] },
    ]);
  });
  afterAll(() => service.close());

  test('answers to callers with the operation admin, and to no others', async () => {
    const as = async (email: string) => ({
      headers: { authorization: `Bearer ${await service.issuer.mint({ email, audience: serviceAudience })}` },
    });
    for (const request of [look, probe]) {
      expect((await service.call(request)).status).toBe(401);
      expect((await service.call({ ...request, ...(await as(reader)) })).status).toBe(403);
      const answer = await service.call({ ...request, ...(await as(admin)) });
      expect(answer.status).toBe(200);
      expect(answer.json<CanonicalPreflightReport>()).toMatchObject({
        authenticationMode: 'google-oidc',
        tenantPoliciesEnforced: true,
        identityPolicyCount: 2,
      });
    }
  });
});

test('a report of 503 keeps its body, and a ledger that is away is a problem document', async () => {
  const store = () => Promise.reject(new StoreError('unavailable', 'away'));
  const { preflightCanonicalStore, probeCanonicalStoreDataPlane } = operations;
  const chainOver = (configuration: CanonicalConfiguration, changes: object) =>
    createChain({
      operations: { preflightCanonicalStore, probeCanonicalStoreDataPlane },
      handlers: handlersOver({ provider: 'sqlite' } as never, { now: START }, { configuration, ...changes }),
      validators: loadValidators,
      world: machine,
      authenticator: { authenticate: () => Promise.resolve(anonymous) },
      authorizer: { authorize: () => undefined },
      log: () => undefined,
      rateLimit: null,
      validateResponses: true,
    });
  const empty = { provider: 'sqlite', query: () => Promise.resolve({ records: [], next: null }) };
  const open = { ...production, tenantPoliciesEnforced: false };
  const unguarded = await inject(chainOver(open, { store: () => Promise.resolve(empty) }), look);
  expect([unguarded.status, unguarded.headers['content-type'], unguarded.json()]).toMatchObject([
    503,
    'application/json',
    { tenantPoliciesEnforced: false, dataPlaneProbe: null },
  ]);
  // Reading the ledger is all that this store can do.
  const failed = await inject(chainOver(production, { store: () => Promise.resolve(empty) }), probe);
  expect([failed.status, failed.headers['content-type'], failed.json()]).toMatchObject([
    503,
    'application/json',
    { dataPlaneProbe: { ready: false, status: 'failed', cleanupVerified: false } },
  ]);
  for (const request of [look, probe]) {
    const away = await inject(chainOver(production, { store }), request);
    expect([away.status, away.json()]).toMatchObject([503, { code: 'unavailable', retryable: true }]);
  }
});
