import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type {
  CanonicalOutboxQueryResult,
  CanonicalTransactionResult,
} from '../../contracts/generated/models.ts';
import { share } from '../support/effort.ts';
import { HttpTenant } from '../support/http.ts';
import { postgresMissing, postgresUrl } from '../support/postgres.ts';
import { Consumers } from './outbox-consumers.ts';
import { type Fault, faultsOf, type Seen } from './outbox-log.ts';
import { Servers } from './servers.ts';

const EVENTS_PER_COMMIT = 100;
const CONSUMERS = 6;
/** After such a part of all acknowledgements one of the two is killed, or both. */
const KILLS: readonly { readonly after: number; readonly servers: readonly number[] }[] = [
  { after: 0.1, servers: [0] },
  { after: 0.3, servers: [1] },
  { after: 0.5, servers: [0, 1] },
  { after: 0.7, servers: [1] },
  { after: 0.9, servers: [0] },
];
/** Many times the duration on a quiet machine. */
const PATIENCE_MS = 600_000;

describe('two servers, killed while consumers work through one outbox', () => {
  const folders: string[] = [];
  afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))));

  it('lose no event and give none to two, on one SQLite file', { timeout: PATIENCE_MS }, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-outbox-kill-'));
    folders.push(folder);
    await check({ SVC_DATA_DIR: folder }, share(4_000, 10_000));
  });

  const missing = postgresMissing === undefined ? '' : `, left out: ${postgresMissing}`;
  const name = `lose no event and give none to two, on PostgreSQL${missing}`;
  it.skipIf(missing !== '')(name, { timeout: PATIENCE_MS }, async () => {
    const env = {
      SVC_CANONICAL_STORE_PROVIDER: 'postgresql',
      SVC_CANONICAL_CONNECTION_STRING: postgresUrl(),
    };
    await check(env, share(2_000, 4_000));
  });
});

async function check(env: Readonly<Record<string, string>>, events: number): Promise<void> {
  await using servers = new Servers(env);
  await servers.start(2);
  const tenantId = `outbox-${randomUUID()}`;
  const tenant = async () => new HttpTenant(await servers.address(0), tenantId);
  const eventIds = await fill(await tenant(), events);
  const kills = [...KILLS];
  const acknowledged = (count: number) => {
    if (count < events * (kills[0]?.after ?? Number.POSITIVE_INFINITY)) return;
    for (const n of kills.shift()?.servers ?? []) servers.kill(n);
  };
  const consumers = new Consumers(servers, { tenantId, seed: 1, events, acknowledged });
  await Promise.all(Array.from({ length: CONSUMERS }, (_, n) => consumers.consume(`${n}`)));
  expect(kills).toEqual([]);
  expect(faultsOf(consumers.log, eventIds)).toEqual([]);
  expect(new Set(await delivered(await tenant()))).toEqual(new Set(eventIds));
  expect(await servers.stop()).toEqual([0, 0]);
}

/** Commits all events; gives their ids. */
async function fill(tenant: HttpTenant, events: number): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < events / EVENTS_PER_COMMIT; n++) {
    const outbox = Array.from({ length: EVENTS_PER_COMMIT }, () => ({
      topic: 't',
      key: 'k',
      payload: { n },
    }));
    const body = { idempotencyKey: `fill-${n}`, outbox };
    const answer = await tenant.post<CanonicalTransactionResult>('/transactions', body);
    expect(answer.status).toBe(200);
    ids.push(...answer.body.outbox.map(({ id }) => id));
  }
  return ids;
}

async function delivered(tenant: HttpTenant): Promise<string[]> {
  const ids: string[] = [];
  let continuationToken: string | null = null;
  do {
    const body = { state: 'delivered', limit: 1_000, continuationToken };
    const page: { body: CanonicalOutboxQueryResult } = await tenant.post('/outbox/query', body);
    ids.push(...page.body.items.map(({ id }) => id));
    ({ continuationToken } = page.body);
  } while (continuationToken !== null);
  return ids;
}

describe('the log of the events that consumers saw', () => {
  const lease = (token: string, at: number, expiresAt: number): Seen => {
    return { kind: 'lease', eventId: 'e', token, at, expiresAt };
  };
  const end = (kind: 'ack' | 'release', token: string, at: number, accepted = true): Seen => {
    return { kind, eventId: 'e', token, at, accepted };
  };
  const faults = (...log: Seen[]): Fault['what'][] => faultsOf(log, ['e']).map(({ what }) => what);

  it('is sound where each holder comes after the one before', () => {
    expect(faults(lease('x', 1, 5), lease('y', 5, 9), end('ack', 'y', 6))).toEqual([]);
    expect(faults(lease('x', 1, 9), end('release', 'x', 3), lease('y', 4, 9), end('ack', 'y', 6))).toEqual(
      [],
    );
    // Refused, and repeated with the same token.
    expect(
      faults(
        lease('x', 1, 5),
        end('ack', 'x', 7, false),
        lease('y', 8, 12),
        end('ack', 'y', 9),
        end('ack', 'y', 9),
      ),
    ).toEqual([]);
    // The answer was so late that the lease was over when it came.
    expect(faults(lease('y', 6, 9), lease('x', 7, 5), end('ack', 'y', 8))).toEqual([]);
  });

  it('shows a double hold', () => {
    expect(faults(lease('x', 1, 6), lease('y', 5, 9), end('ack', 'y', 6))).toEqual(['held by two']);
    expect(faults(lease('x', 1, 20), lease('z', 21, 22), lease('y', 2, 3), end('ack', 'x', 9))).toEqual([
      'held by two',
    ]);
  });

  it('shows a loss, and an event acknowledged by two', () => {
    expect(faults(lease('x', 1, 6), end('ack', 'x', 2, false))).toEqual(['never acknowledged']);
    expect(faults()).toEqual(['never acknowledged']);
    expect(faults(lease('x', 1, 6), end('ack', 'x', 2), lease('y', 7, 9), end('ack', 'y', 8))).toEqual([
      'acknowledged by two',
    ]);
  });

  it('shows an event that no client committed', () => {
    expect(faultsOf([lease('x', 1, 6)], [])).toEqual([{ what: 'unknown event', eventId: 'e' }]);
  });
});
