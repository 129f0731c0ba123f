import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { writeArchiveDirectory } from '../../cli/archive-directory.ts';
import { machine } from '../../functions/compose/machine.ts';
import { exportTenantArchive } from '../../functions/groups/canonical/copies/tenant-archives.ts';
import { collections } from '../../functions/groups/canonical/records.ts';
import { hashApiKey } from '../../functions/identity/api-keys.ts';
import { sha256 } from '../../functions/kernel/canonical-json.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { type IssuedService, serviceAudience, startIssuedService } from '../support/issued-service.ts';
import { Canaries } from './canary.ts';
import { filesIn } from './canary-run.ts';
import { CopiedTenant, enrich } from './copied-tenant.ts';
import { emptySnapshot } from './seal.ts';

/** Who may take a tenant with them or put one back, and what a copy must not hold. */

const canaries = new Canaries();
const apiKey = canaries.make('api-key');
const owner = 'owner@project.example';
const everything = ['read', 'write', 'dispatch', 'export', 'restore'];

let service: IssuedService;
const of = (principal: string, operations: readonly string[], tenants: readonly string[] = ['acme']) => ({
  principal,
  tenants,
  operations,
});
const exporter = 'exporter@project.example';
const restorer = 'restorer@project.example';
const admin = 'admin@project.example';
beforeAll(async () => {
  const grants = [
    of(owner, everything),
    of(owner, ['admin'], ['*']),
    of(exporter, ['export']),
    of(restorer, ['read', 'write', 'dispatch', 'restore']),
    of(admin, ['admin', 'export'], ['*']),
  ];
  const settings = {
    'Server:ApiKeyHashes:0': hashApiKey(apiKey),
    'Server:LogLevel': 'debug',
    'Server:CanonicalAccess:RestoreTokenMaxAgeSeconds': '600',
  };
  service = await startIssuedService(grants, settings);
});
afterAll(() => service.close());

/** The tenant as this caller speaks to it, with a token of that age. */
async function as(email: string, ageMinutes = 0, tenantId = 'acme'): Promise<CopiedTenant> {
  const issuedAtSeconds = Math.floor(machine.clock.now() / 1_000) - ageMinutes * 60;
  const token = await service.issuer.mint({ email, audience: serviceAudience, issuedAtSeconds });
  canaries.plant('token', token);
  const headers = { 'X-Svc-Api-Key': apiKey, 'X-Serverless-Authorization': `Bearer ${token}` };
  return new CopiedTenant(service, tenantId, headers);
}

const statusOf = async (answer: Promise<{ readonly status: number }>) => (await answer).status;

describe('D07: the two operations that copy a tenant', () => {
  test('export needs its own grant for the tenant, and no other one will do', async () => {
    expect(await statusOf((await as(exporter)).export())).toBe(200);
    expect(await statusOf((await as(admin, 0, 'any')).export())).toBe(200);
    expect(await statusOf((await as(restorer)).export())).toBe(403);
    expect(await statusOf((await as(exporter, 0, 'other')).export())).toBe(403);
  });

  test('restore needs its own grant for the tenant, and admin for all of them', async () => {
    const empty = emptySnapshot('acme');
    expect(await statusOf((await as(owner)).restore(empty))).toBe(204);
    for (const principal of [exporter, restorer, admin, 'stranger@project.example'])
      expect(await statusOf((await as(principal)).restore(empty)), principal).toBe(403);
    expect(await statusOf((await as(owner, 0, 'other')).restore(emptySnapshot('other')))).toBe(403);
  });

  test('A22: restore needs a token as young as the setting says, and export does not', async () => {
    const old = await as(owner, 11);
    const refused = await old.restore(emptySnapshot('acme'));
    expect(refused.json()).toMatchObject({ status: 401, code: 'unauthenticated' });
    expect(refused.json<{ detail: string }>().detail).toContain('600 seconds');
    expect(await statusOf(old.export())).toBe(200);
    expect(await statusOf((await as(owner, 9)).restore(emptySnapshot('acme')))).toBe(204);
  });

  test('A22: without the setting a restore takes any valid token', async () => {
    const lenient = await startIssuedService([of(owner, everything), of(owner, ['admin'], ['*'])], {});
    const issuedAtSeconds = Math.floor(machine.clock.now() / 1_000) - 50 * 60;
    const token = await lenient.issuer.mint({ email: owner, audience: serviceAudience, issuedAtSeconds });
    const headers = { 'X-Serverless-Authorization': `Bearer ${token}` };
    const tenant = new CopiedTenant(lenient, 'acme', headers);
    expect(await statusOf(tenant.restore(emptySnapshot('acme')))).toBe(204);
    await lenient.close();
  });

  test('a caller that may not restore is refused before the body is read', async () => {
    const body = '{"snapshot":'.padEnd(1_000_000, '[');
    for (const [caller, status] of [
      [await as(restorer), 403],
      [await as(owner, 11), 401],
      [await as(owner), 400],
    ] as const)
      expect(await statusOf(caller.post('restore', body))).toBe(status);
  });
});

describe('the content of a copy', () => {
  const clock = { now: 0 };
  const marks = canaries.make('payload');
  let tenant: CopiedTenant;
  beforeAll(async () => {
    tenant = await as(owner);
    // The leases are short and the clock is the machine's: none of them runs out here.
    for (const token of await enrich(tenant, clock, marks.slice(0, 40))) {
      canaries.plant('lease-token', token);
      canaries.plant('lease-token', sha256(token).slice('sha256:'.length));
    }
  });

  test('J05: no copy of a tenant holds a lease token, its hash, or a credential', async () => {
    const secrets = ['api-key', 'token', 'lease-token'] as const;
    const snapshot = await tenant.export();
    expect(snapshot.body).toContain(marks.slice(0, 40));
    const folder = mkdtempSync(join(tmpdir(), 'svc-copies-'));
    const path = join(service.folder, 'svc.canonical.sqlite');
    const store = await openSqliteStore({ path, ...machine, collections });
    await writeArchiveDirectory(join(folder, 'archive'), (sink) =>
      exportTenantArchive(store, 'acme', sink, { now: machine.clock.now() }),
    );
    await store.close();
    const chunks = readdirSync(join(folder, 'archive'))
      .filter((name) => name.endsWith('.bin'))
      .map((name) => ({ name, content: gunzipSync(readFileSync(join(folder, 'archive', name))) }));
    const places = [{ name: 'snapshot', content: snapshot.body }, ...chunks, ...filesIn(folder)];
    expect(canaries.hits(places, secrets)).toEqual([]);
    expect(canaries.hits(chunks, ['payload'])).not.toEqual([]);
    // The store itself holds the hashes while they are worth something.
    expect(canaries.hits(filesIn(service.folder), ['lease-token'])).not.toEqual([]);
    rmSync(folder, { recursive: true });
  });

  test('a token that was given out before a restore is worth nothing after it', async () => {
    const mine = await as(owner);
    const before = await mine.snapshot();
    await mine.commit(randomUUID(), { outbox: [{ id: 'held', topic: 't', key: 'k' }] });
    const held = await mine.snapshot();
    const [lease] = await mine.done<{ leaseToken: string }[]>('outbox/leases', {
      consumerId: 'c',
      maxItems: 100,
    });
    const leases = await mine.done<{ items: { id: string }[] }>('outbox/query', { state: 'leased' });
    expect(leases.items.map(({ id }) => id)).toContain('held');
    expect(await statusOf(mine.restore(held))).toBe(204);
    for (const operation of ['ack', 'renew', 'nack']) {
      const answer = await mine.post(`outbox/held/${operation}`, { leaseToken: lease?.leaseToken ?? '' });
      expect(answer.json()).toMatchObject({ status: 409, code: 'lease_stale' });
    }
    expect(await statusOf(mine.restore(before))).toBe(204);
    const gone = await mine.post('outbox/held/ack', { leaseToken: lease?.leaseToken ?? '' });
    expect(gone.json()).toMatchObject({ status: 404, code: 'not_found' });
  });

  test('no answer may be kept by a cache', async () => {
    const snapshot = await tenant.snapshot();
    const answers = [
      await tenant.export(),
      await tenant.restore(snapshot),
      await tenant.restore({ ...snapshot, fences: [] }),
      await (await as(restorer)).export(),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 204, 400, 403]);
    for (const { headers } of answers) {
      expect(headers['cache-control']).toBe('no-store');
      for (const name of ['etag', 'last-modified', 'expires']) expect(headers[name]).toBeUndefined();
    }
  });

  test('J01: the log tells that a tenant was copied, by whom, and nothing that it holds', async () => {
    const lines = service.lines.join('\n');
    expect(
      canaries.hits([{ name: 'log', content: lines }], ['api-key', 'token', 'lease-token', 'payload']),
    ).toEqual([]);
    const logged = service.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    for (const operation of ['exportCanonicalTenant', 'restoreCanonicalTenant'])
      expect(logged).toContainEqual(expect.objectContaining({ operation, principal: owner }));
  });
});
