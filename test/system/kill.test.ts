import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFailed } from 'vitest';
import type {
  CanonicalDocument,
  CanonicalDocumentRevisionList,
  CanonicalOutboxQueryResult,
  CanonicalTransactionResult,
} from '../../contracts/generated/models.ts';
import { Random } from '../simulation/random.ts';
import { repeatLine, seedOf } from '../support/effort.ts';
import { HttpTenant } from '../support/http.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';

const KILLS = 8;
const WRITERS = 8;
const DOCUMENTS = 5;

describe('the embedded server, killed under load', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'svc-kill-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it.each([
    ['grouped commits', 'true'],
    ['one transaction each', 'false'],
  ])('loses no acknowledged commit and tears none: %s', async (_, grouping) => {
    onTestFailed(() => console.error(repeatLine));
    const tenantId = `kill-${randomUUID()}`;
    const random = new Random(seedOf(`kills, grouping ${grouping}`));
    const settings = [`CanonicalStore:Grouping=${grouping}`];
    const acknowledged = new Map<string, CanonicalTransactionResult>();
    const attempted = new Map<string, object>();
    for (let round = 0; round < KILLS; round++) {
      const server = await startServer({ SVC_DATA_DIR: folder }, settings);
      await loadUntilKilled(server, tenantId, attempted, acknowledged, random);
    }
    expect(acknowledged.size).toBeGreaterThan(KILLS * 20);
    const server = await startServer({ SVC_DATA_DIR: folder }, settings);
    await checkWhole(new HttpTenant(server.address, tenantId), attempted, acknowledged);
    expect(await server.stop()).toBe(0);
  });
});

/** Writers commit without a pause; once enough commits of this round are acknowledged, the process is killed. */
async function loadUntilKilled(
  server: ServerProcess,
  tenantId: string,
  attempted: Map<string, object>,
  acknowledged: Map<string, CanonicalTransactionResult>,
  random: Random,
): Promise<void> {
  const tenant = new HttpTenant(server.address, tenantId);
  const enough = 20 + random.below(100);
  let count = 0;
  let killed: Promise<void> | undefined;
  const writer = async (own: Random) => {
    while (killed === undefined) {
      const key = randomUUID();
      const body = request(tenantId, key, own.below(DOCUMENTS));
      attempted.set(key, body);
      const answer = await tenant
        .post<CanonicalTransactionResult>('/transactions', body)
        .catch(() => undefined);
      if (answer === undefined) return;
      expect(answer.status).toBe(200);
      acknowledged.set(key, answer.body);
      if (++count >= enough) killed ??= server.kill();
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, () => writer(new Random(random.below(2 ** 31)))));
  await killed;
}

function request(tenantId: string, key: string, n: number): object {
  const id = `d${n}`;
  const document = { tenantId, documentType: 'load', id, schemaVersion: '1', data: { key } };
  return {
    idempotencyKey: key,
    mutations: [{ operation: 'upsert', document }],
    fences: [{ operation: 'claim', name: 'key', value: key, ownerDocumentType: 'load', ownerDocumentId: id }],
    outbox: [{ topic: 'load', key: id, payload: { key } }],
  };
}

async function checkWhole(
  tenant: HttpTenant,
  attempted: ReadonlyMap<string, object>,
  acknowledged: ReadonlyMap<string, CanonicalTransactionResult>,
): Promise<void> {
  const events = await eventKeys(tenant);
  const revisions = await revisionKeys(tenant);
  // An unanswered commit is stored whole or not at all: its event and its revision agree.
  expect([...events].sort()).toEqual([...revisions].sort());
  for (const [key, body] of attempted) {
    const first = acknowledged.get(key);
    if (first !== undefined) expect(events.has(key), 'an acknowledged commit is there').toBe(true);
    const again = await tenant.post<CanonicalTransactionResult>('/transactions', body);
    expect(again.status).toBe(200);
    expect(again.body.replayed).toBe(events.has(key));
    if (first !== undefined) expect(again.body).toEqual({ ...first, replayed: true });
  }
}

async function eventKeys(tenant: HttpTenant): Promise<Set<string>> {
  const keys = new Set<string>();
  let continuationToken: string | null = null;
  do {
    const page: { body: CanonicalOutboxQueryResult } = await tenant.post('/outbox/query', {
      limit: 1000,
      continuationToken,
    });
    for (const { payload } of page.body.items) keys.add((payload as { key: string }).key);
    ({ continuationToken } = page.body);
  } while (continuationToken !== null);
  return keys;
}

/** The keys of all revisions, which must be numbered without a gap and end in the current document. */
async function revisionKeys(tenant: HttpTenant): Promise<Set<string>> {
  const keys = new Set<string>();
  for (let n = 0; n < DOCUMENTS; n++) {
    const name = { documentType: 'load', id: `d${n}` };
    const { body } = await tenant.post<CanonicalDocumentRevisionList>('/documents/revisions', {
      ...name,
      limit: 1000,
    });
    expect(body.map((r) => r.revision)).toEqual(body.map((_, at) => body.length - at));
    const current = await tenant.post<CanonicalDocument>('/documents/read', name);
    if (body.length > 0) expect(current.body).toEqual(body[0]?.document);
    for (const { document } of body) keys.add((document.data as { key: string }).key);
  }
  return keys;
}
