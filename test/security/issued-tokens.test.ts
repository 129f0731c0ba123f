import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { machine } from '../../functions/compose/machine.ts';
import { type RunningService, startService } from '../support/service.ts';
import { holds } from './canary.ts';
import { filesIn } from './canary-run.ts';
import { freshTenant } from './target.ts';
import { WriteWatch } from './writes.ts';

/** The tokens that the service itself gives out: of leases and of pages. */

interface Lease {
  readonly event: { readonly id: string };
  readonly leaseToken: string;
}

const clock = { now: Date.UTC(2026, 0, 2) };
let service: RunningService;
let watch: WriteWatch;
beforeAll(async () => {
  service = await startService({ world: { ...machine, clock: { now: () => clock.now } } });
  await leased(1);
  watch = new WriteWatch(service);
});
afterAll(async () => {
  watch.close();
  await service.close();
});

const post = (tenantId: string, rest: string, body: object) =>
  service.call({ method: 'POST', path: `/canonical/tenants/${tenantId}/${rest}`, body });

/** A new tenant and the leases of all its events, for a minute. */
async function leased(count: number) {
  const tenantId = freshTenant();
  const outbox = Array.from({ length: count }, (_, n) => ({ topic: 't', key: `${n}`, payload: { n } }));
  expect((await post(tenantId, 'transactions', { idempotencyKey: 'k', outbox })).status).toBe(200);
  return { tenantId, leases: await lease(tenantId, count) };
}

async function lease(tenantId: string, maxItems: number): Promise<Lease[]> {
  const answer = await post(tenantId, 'outbox/leases', { consumerId: 'c', maxItems, leaseSeconds: 60 });
  const leases = answer.json<Lease[]>();
  expect(leases).toHaveLength(maxItems);
  return leases;
}

describe('K01: a lease token', () => {
  test('is 256 bits that no two leases share', async () => {
    const { tenantId, leases } = await leased(100);
    const tokens = leases.map(({ leaseToken }) => leaseToken);
    for (const token of tokens) expect(token).toMatch(/^[0-9a-f]{64}$/);
    clock.now += 61_000;
    tokens.push(...(await lease(tenantId, 100)).map(({ leaseToken }) => leaseToken));
    expect(new Set(tokens).size).toBe(200);
    // Neither counted nor derived from one another: no half of one is that of another, and about half of all bits are set.
    for (const half of [(token: string) => token.slice(0, 32), (token: string) => token.slice(32)]) {
      expect(new Set(tokens.map(half)).size).toBe(200);
    }
    const ones = tokens.map((token) => BigInt(`0x${token}`).toString(2).replaceAll('0', '').length);
    const share = ones.reduce((sum, each) => sum + each, 0) / (200 * 256);
    expect(Math.abs(share - 0.5)).toBeLessThan(0.02);
  });

  test('is stored as its SHA-256 only', async () => {
    const { leases } = await leased(3);
    const files = Buffer.concat(
      filesIn(service.folder).map(({ content }) => Buffer.from(content as Uint8Array)),
    );
    const database = new DatabaseSync(join(service.folder, 'svc.canonical.sqlite'), { readOnly: true });
    const heads = database
      .prepare('SELECT head FROM records')
      .all()
      .map(({ head }) => String(head))
      .join('\n');
    database.close();
    for (const { leaseToken } of leases) {
      expect(heads).toContain(`sha256:${createHash('sha256').update(leaseToken).digest('hex')}`);
      expect(holds(files, leaseToken)).toBe(false);
    }
  });
});

describe('K03: only the token of the lease that lasts is worth anything', () => {
  const uses = ['renew', 'ack', 'nack'] as const;

  async function expectStale(tenantId: string, eventId: string, leaseToken: string): Promise<void> {
    for (const use of uses) {
      const { version } = watch;
      const answer = await post(tenantId, `outbox/${eventId}/${use}`, { leaseToken });
      expect([400, 409], `${use}: ${answer.body}`).toContain(answer.status);
      if (answer.status === 409)
        expect(answer.json<{ code: string }>().code).toMatch(/^lease_(stale|not_active)$/);
      expect(watch.version).toBe(version);
    }
  }

  test('not one of another event, of another tenant, or one that is changed', async () => {
    const { tenantId, leases } = await leased(2);
    const foreign = await leased(1);
    const [first, second] = leases as [Lease, Lease];
    const { leaseToken } = first;
    const others = [
      second.leaseToken,
      foreign.leases[0]?.leaseToken ?? '',
      ...Array.from({ length: 64 }, (_, at) => leaseToken.slice(0, at) + leaseToken.slice(at + 1)),
      ...Array.from(
        { length: 64 },
        (_, at) => leaseToken.slice(0, at) + (leaseToken[at] === '0' ? '1' : '0') + leaseToken.slice(at + 1),
      ),
      leaseToken.toUpperCase(),
      `${leaseToken}0`,
      `0x${leaseToken}`,
      '0'.repeat(64),
      createHash('sha256').update(leaseToken).digest('hex'),
      `sha256:${createHash('sha256').update(leaseToken).digest('hex')}`,
      'null',
      '*',
    ];
    for (const other of others) await expectStale(tenantId, first.event.id, other);
    // None of the attempts changed the lease.
    expect((await post(tenantId, `outbox/${first.event.id}/ack`, { leaseToken })).status).toBe(204);
  });

  test('not one that ran out, whether or not another was given since', async () => {
    const { tenantId, leases } = await leased(1);
    const [{ event, leaseToken }] = leases as [Lease];
    clock.now += 60_000;
    await expectStale(tenantId, event.id, leaseToken);
    const [next] = await lease(tenantId, 1);
    await expectStale(tenantId, event.id, leaseToken);
    expect((await post(tenantId, `outbox/${event.id}/renew`, { leaseToken: next?.leaseToken })).status).toBe(
      200,
    );
  });

  test('not one whose event was acknowledged or given back', async () => {
    const { tenantId, leases } = await leased(2);
    const [acknowledged, given] = leases as [Lease, Lease];
    const { leaseToken } = acknowledged;
    const ack = () => post(tenantId, `outbox/${acknowledged.event.id}/ack`, { leaseToken });
    expect((await ack()).status).toBe(204);
    for (const use of ['renew', 'nack']) {
      const answer = await post(tenantId, `outbox/${acknowledged.event.id}/${use}`, { leaseToken });
      expect(answer.json()).toMatchObject({ status: 409, code: 'lease_not_active' });
    }
    // A repeated call is safe, and changes nothing.
    const { version } = watch;
    expect((await ack()).status).toBe(204);
    expect(watch.version).toBe(version);
    const released = await post(tenantId, `outbox/${given.event.id}/nack`, { leaseToken: given.leaseToken });
    expect(released.status).toBe(204);
    await expectStale(tenantId, given.event.id, given.leaseToken);
  });
});

test('K04: a continuation token that differs in any bit, or serves another query, is refused', async () => {
  const tenantId = freshTenant();
  const outbox = Array.from({ length: 3 }, (_, n) => ({ topic: n === 0 ? 'a' : 'b', key: 'k' }));
  await post(tenantId, 'transactions', { idempotencyKey: 'k', outbox });
  const query = (body: object) => post(tenantId, 'outbox/query', { limit: 1, ...body });
  const { continuationToken } = (await query({})).json<{ continuationToken: string }>();
  expect((await query({ continuationToken })).status).toBe(200);
  // The size of a page is no part of the question.
  expect((await query({ continuationToken, limit: 2 })).status).toBe(200);
  const flipped = Array.from({ length: continuationToken.length * 8 }, (_, bit) => {
    const bytes = Buffer.from(continuationToken, 'latin1');
    bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    return bytes.toString('latin1');
  });
  const [position = '', mac = ''] = continuationToken.split('.');
  const others = [
    `${position}.`,
    `.${mac}`,
    position,
    mac,
    `${continuationToken}.`,
    `${continuationToken}=`,
    ` ${continuationToken}`,
    `${position}.${mac}.${mac}`,
    `${mac}.${position}`,
    '',
  ];
  for (const changed of [...flipped, ...others]) {
    const answer = await query({ continuationToken: changed });
    expect(answer.json(), JSON.stringify(changed)).toMatchObject({
      status: 400,
      code: 'continuation_token_invalid',
    });
  }
  for (const other of [{ topic: 'b' }, { state: 'ready' }, { state: 'delivered' }]) {
    const answer = await query({ ...other, continuationToken });
    expect(answer.json(), JSON.stringify(other)).toMatchObject({ code: 'continuation_token_invalid' });
  }
});
