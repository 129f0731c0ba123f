import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../../../../../contracts/generated/models.ts';
import type { SnapshotFault } from '../../../../archives/snapshot-error.ts';
import { sha256 } from '../../../../kernel/canonical-json.ts';
import { GOLDEN_HASH, GOLDEN_LINES } from './golden.fixture.ts';
import {
  makeSnapshot,
  readSnapshot,
  readSnapshotInTurns,
  SNAPSHOT_BYTES_MAX,
  type TenantSnapshot,
} from './snapshot.ts';
import {
  eachOf,
  emptyTenant,
  faultOf,
  linesIn,
  readLines,
  sampleTenant,
  scanned,
  steps,
  TENANT,
  tenantOf,
} from './tenants.fixture.ts';

type Made = Awaited<ReturnType<typeof tenantOf>>;

function snapshotOf({ store, client }: Made, bytesMax?: number): Promise<TenantSnapshot> {
  const { tenantId, clock } = client;
  return makeSnapshot(tenantId, scanned(store, tenantId), { now: clock.now }, bytesMax);
}

function copyOf<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const member of Object.values(value)) frozen(member);
    Object.freeze(value);
  }
  return value;
}

const LISTS = ['documents', 'revisions', 'fences', 'outbox', 'transactions'] as const;

describe('a snapshot', () => {
  test('of a large commit is read with a turn for each of its documents, beside those for each record', async () => {
    const turnsOf = async (size: number) => {
      const made = emptyTenant();
      const mutations = Array.from({ length: size }, (_, n) => made.client.upsert(`d/${n}`, {}));
      await made.client.commit({ idempotencyKey: 'large', mutations });
      const snapshot = JSON.parse(JSON.stringify(await snapshotOf(made))) as TenantSnapshot;
      let turns = 0;
      const next = () => Promise.resolve(void (turns += 1));
      await readSnapshotInTurns(TENANT, snapshot, null, { due: () => true, next });
      return turns;
    };
    expect((await turnsOf(40)) - (await turnsOf(20))).toBe(20 * 7);
  });

  test('is the content of the lines under the same hash, and goes back into the same records', async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.nat(), async (played, seed) => {
        const made = await tenantOf(played);
        const lines = (await linesIn(made)).map(({ line }) => line);
        const snapshot = JSON.parse(JSON.stringify(await snapshotOf(made))) as TenantSnapshot;
        expect(snapshot.contentHash).toBe(sha256(lines.join('')));
        const content = readSnapshot(TENANT, frozen(snapshot), snapshot.contentHash);
        expect(content.contentHash).toBe(snapshot.contentHash);
        const records = [...content.records];
        expect(records).toEqual(readLines(lines));
        // The lists may come in any order: the service sorts them.
        const shuffled = { ...snapshot };
        for (const name of LISTS) {
          const items: readonly unknown[] = snapshot[name];
          const [order] = fc.sample(fc.shuffledSubarray([...items], { minLength: items.length }), {
            seed,
            numRuns: 1,
          });
          Object.assign(shuffled, { [name]: order });
        }
        let turns = 0;
        const next = () => Promise.resolve(void (turns += 1));
        const sorted = await readSnapshotInTurns(TENANT, shuffled, null, { due: () => true, next });
        // Other calls work after each item, and no item is checked twice without them.
        const items = LISTS.reduce((sum, name) => sum + snapshot[name].length, 0);
        expect(turns).toBeGreaterThanOrEqual(2 * items);
        expect(sorted.contentHash).toBe(content.contentHash);
        expect([...sorted.records]).toEqual(records);
      }),
      { seed: 13, numRuns: 100 },
    );
  });

  test('holds the sample as it was pinned', async () => {
    const snapshot = await snapshotOf(await sampleTenant());
    expect(snapshot.contentHash).toBe(GOLDEN_HASH);
    expect(Object.keys(snapshot)).toEqual(['tenantId', ...LISTS, 'exportedAtUtc', 'contentHash']);
    expect(snapshot.exportedAtUtc).toBe('2026-01-02T03:04:06.000Z');
    expect(snapshot.documents.map(({ id, deleted }) => [id, deleted])).toEqual([
      ['a', false],
      ['b', true],
    ]);
    expect(snapshot.revisions.map(({ id, revision, operation }) => [id, revision, operation])).toEqual([
      ['a', 1, 'upsert'],
      ['a', 2, 'upsert'],
      ['b', 1, 'upsert'],
      ['b', 2, 'delete'],
    ]);
    expect(snapshot.outbox.map(({ id }) => id.replace(/^ctx_[0-9a-f]{32}/, 'ctx'))).toEqual([
      'ctx:003',
      'delivered',
      'leased',
      'parked',
    ]);
    expect(snapshot.outbox[0]).not.toHaveProperty('createdAtUtc');
    const keys = snapshot.transactions.map(({ idempotencyKey }) => idempotencyKey);
    expect(keys.toSorted()).toEqual(['create', 'remove']);
    expect(snapshot.transactions.map(({ result }) => result.replayed)).toEqual([false, false]);
  });

  test('has at most so many bytes of lines, to the byte', async () => {
    const made = await sampleTenant();
    const bytes = Buffer.byteLength((await linesIn(made)).map(({ line }) => line).join(''));
    const snapshot = await snapshotOf(made, bytes);
    await faultOf('too_large', () => snapshotOf(made, bytes - 1));
    readSnapshot('tenant-a', snapshot, null, bytes);
    await faultOf('too_large', () => readSnapshot('tenant-a', snapshot, null, bytes - 1));
  });

  test('is given up at its size, before the store is read on', async () => {
    const record = readLines(GOLDEN_LINES, 'tenant-a').find(({ key }) => key.collection === 'documents');
    if (record === undefined) throw new Error('the sample holds no document');
    let read = 0;
    const pages = async function* () {
      for (;;) {
        read += 1;
        if (read > 1) throw new Error('read on');
        yield { records: [record] };
      }
    };
    await faultOf('too_large', () => makeSnapshot('tenant-a', pages(), { now: 0 }, 200));
    expect(SNAPSHOT_BYTES_MAX).toBe(67_108_864);
  });

  test('of a store whose event has no receipt is not made', async () => {
    const made = await sampleTenant();
    const records = readLines(
      (await linesIn(made)).map(({ line }) => line),
      'tenant-a',
    );
    const events = records.filter(({ key }) => key.collection === 'events');
    await expect(makeSnapshot('tenant-a', eachOf([{ records: events }]), { now: 0 })).rejects.toThrow(
      expect.objectContaining({ failure: 'corrupt' }),
    );
  });
});

test('a lease in a snapshot is no content: it is cleared, and the snapshot stays as it is', async () => {
  const made = await sampleTenant();
  const snapshot = await makeSnapshot('tenant-a', scanned(made.store, 'tenant-a'), {
    now: made.client.clock.now,
  });
  const lease = { leaseOwner: 'consumer', leaseExpiresAtUtc: '2099-01-01T00:00:00.000Z' };
  const leased = {
    ...snapshot,
    outbox: snapshot.outbox.map((event) => Object.freeze({ ...event, ...lease })),
  };
  const [one, other] = [readSnapshot('tenant-a', leased), readSnapshot('tenant-a', snapshot)];
  expect([...one.records]).toEqual([...other.records]);
  expect(one.contentHash).toBe(other.contentHash);
  expect(leased.outbox[0]).toMatchObject(lease);
});

type Change = (snapshot: never) => unknown;
type Held = { [member: string]: Held };
const SECRET = 'S3CRET';

function set(path: string, value: unknown): Change {
  return (root: Held) => {
    const names = path.split('/').slice(1);
    const last = names.pop() ?? '';
    const holder = names.reduce<Held>((held, name) => held[name] ?? {}, root);
    holder[last] = value as never;
  };
}

const again = (list: string): Change => {
  return (root: { [list: string]: JsonValue[] }) => root[list]?.push(root[list][0] ?? null);
};
const without = (list: string): Change => {
  return (root: { [list: string]: JsonValue[] }) => root[list]?.pop();
};

const attacks: [string, Change, SnapshotFault, string][] = [
  ['an unknown member', set(`/${SECRET}`, 1), 'invalid', ''],
  ['another tenant', set('/tenantId', SECRET), 'other_tenant', '/tenantId'],
  [
    'a document of another tenant',
    set('/documents/1/tenantId', SECRET),
    'other_tenant',
    '/documents/1/tenantId',
  ],
  ['a fence of another tenant', set('/fences/0/tenantId', SECRET), 'other_tenant', '/fences/0/tenantId'],
  ['an event of another tenant', set('/outbox/2/tenantId', SECRET), 'other_tenant', '/outbox/2/tenantId'],
  [
    'a receipt of another tenant',
    set('/transactions/0/tenantId', SECRET),
    'other_tenant',
    '/transactions/0/tenantId',
  ],
  ['a revision of another tenant', set('/revisions/0/tenantId', SECRET), 'invalid', '/revisions/0'],
  ['a list that is none', set('/fences', {}), 'invalid', '/fences'],
  ['a document twice', again('documents'), 'duplicate', '/documents/2'],
  ['a fence twice', again('fences'), 'duplicate', '/fences/1'],
  ['an event twice', again('outbox'), 'duplicate', '/outbox/4'],
  ['a receipt twice', again('transactions'), 'duplicate', '/transactions/2'],
  ['a revision twice', again('revisions'), 'duplicate', '/revisions/4'],
  ['a revision less', without('revisions'), 'invalid', '/revisions'],
  ['a revision of no receipt', set('/revisions/0/revision', 9), 'invalid', '/revisions/0'],
  ['a revision with other data', set('/revisions/0/document/data', {}), 'invalid', '/revisions/0'],
  ['a revision with an unknown member', set(`/revisions/0/${SECRET}`, 1), 'invalid', '/revisions/0'],
  ['a revision that is none', set('/revisions/0', SECRET), 'invalid', '/revisions/0'],
  ['an event of no receipt', set('/outbox/1/transactionId', SECRET), 'invalid', '/outbox/1/transactionId'],
  ['a lease without a holder', set('/outbox/2/leaseOwner', 7), 'invalid', '/outbox/2/leaseOwner'],
  [
    'a lease that ends never',
    set('/outbox/2/leaseExpiresAtUtc', 'x'),
    'invalid',
    '/outbox/2/leaseExpiresAtUtc',
  ],
  ['a document without etag', set('/documents/0/etag', ''), 'invalid', '/documents/0/etag'],
  ['much data', set('/documents/0/data', { a: SECRET.repeat(160_000) }), 'over_limit', '/documents/0/data'],
  ['a lone surrogate', set('/documents/0/data', { a: '\uD800' }), 'invalid', ''],
  ['no finite number', set('/documents/0/data', { a: Number.NaN }), 'invalid', ''],
  ['what is no JSON', set('/documents/0/data', { a: undefined }), 'invalid', ''],
  ['no moment of export', set('/exportedAtUtc', SECRET), 'invalid', '/exportedAtUtc'],
  ['a hash of another form', set('/contentHash', 'a'.repeat(64)), 'invalid', '/contentHash'],
  ['the hash of another content', set('/contentHash', sha256('x')), 'hash_mismatch', '/contentHash'],
  ['other data under the same hash', set('/documents/0/data', { a: 1 }), 'hash_mismatch', '/contentHash'],
  [
    'another delivery count under the same hash',
    set('/outbox/1/deliveryCount', 7),
    'hash_mismatch',
    '/contentHash',
  ],
];

describe('a snapshot is refused, with its place and without its value, that holds', () => {
  test.each(attacks)('%s', async (_, change, fault, pointer) => {
    // Nothing in it stands in two places, as in one that came over the wire.
    const snapshot = copyOf(await snapshotOf(await sampleTenant()));
    change(snapshot as never);
    const error = await faultOf(fault, () => readSnapshot('tenant-a', snapshot));
    expect(error.place.pointer ?? '').toBe(pointer);
    expect(error.message).not.toContain(SECRET);
  });

  test('a value that is no snapshot, is nested endlessly, or is not the expected one', async () => {
    for (const value of [null, 1, 'x', [], {}])
      await faultOf('invalid', () => readSnapshot('tenant-a', value));
    const endless: unknown[] = [];
    endless.push(endless);
    await faultOf('over_limit', () => readSnapshot('tenant-a', endless));
    const snapshot = await snapshotOf(await sampleTenant());
    await faultOf('hash_mismatch', () => readSnapshot('tenant-a', snapshot, sha256('x')));
    await faultOf('other_tenant', () => readSnapshot('tenant-b', snapshot));
    // The expected hash does not replace the check of the hash in the snapshot.
    const contrary = { ...snapshot, contentHash: sha256('x') };
    await faultOf('hash_mismatch', () => readSnapshot('tenant-a', contrary, GOLDEN_HASH));
  });
});
