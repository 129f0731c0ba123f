import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SnapshotFault } from '../../../../archives/snapshot-error.ts';
import { canonicalJson, type Json } from '../../../../kernel/canonical-json.ts';
import type { RecordData } from '../../../../store/port.ts';
import { GOLDEN_HASH, GOLDEN_LINES } from './golden.fixture.ts';
import { SnapshotLineReader, SnapshotTally, snapshotHeadLine, snapshotLines } from './lines.ts';
import {
  collected,
  eachOf,
  emptyTenant,
  faultOf,
  linesIn,
  readLines,
  replaced,
  sampleTenant,
  scanned,
  steps,
  TENANT,
  tenantOf,
} from './tenants.fixture.ts';

function hashOf(lines: Awaited<ReturnType<typeof linesIn>>): string {
  const tally = new SnapshotTally();
  for (const line of lines) tally.add(line);
  return tally.contentHash();
}

/** As a store may give them back: parts in any order. */
function inFull({ key, head, body, listing, due, parts }: RecordData) {
  const filed = (parts ?? []).map((part) => canonicalJson(part)).sort();
  return { key, head, body: body ?? null, listing: listing ?? null, due: due ?? null, parts: filed };
}

async function recordsIn(made: Awaited<ReturnType<typeof tenantOf>>) {
  const pages = await collected(scanned(made.store, made.client.tenantId));
  return pages.flatMap(({ records }) => records).map(inFull);
}

describe('pinned', () => {
  test('an empty tenant is its head line', async () => {
    const lines = await linesIn(emptyTenant('tenant-a'));
    expect(lines.map(({ line }) => line)).toEqual([
      '{"format":"svc.canonical.snapshot","tenantId":"tenant-a","version":1}\n',
    ]);
    expect(hashOf(lines)).toBe('sha256:87225db2ff16d2be712e95f17488f0c0b2350529f490ddb871ac0534dea6678b');
  });

  test('a tenant with something of everything', async () => {
    const lines = await linesIn(await sampleTenant());
    expect(lines.map(({ line }) => line)).toEqual(GOLDEN_LINES.map((line) => `${line}\n`));
    expect(hashOf(lines)).toBe(GOLDEN_HASH);
  });
});

describe('a tenant after any sequence of commits and calls', () => {
  test('is restored without any change but the leases', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (played) => {
        const made = await tenantOf(played);
        const lines = await linesIn(made);
        const restored = await replaced(readLines(lines.map(({ line }) => line)));
        restored.client.clock.now = made.client.clock.now;
        const [before, after] = [await recordsIn(made), await recordsIn(restored)];
        const others = (records: typeof before) => records.filter(({ key }) => key.collection !== 'events');
        expect(others(after)).toEqual(others(before));
        // Who holds a lease is forgotten; when an event is due again and how lists find it follows from the rest.
        const known = (records: typeof before) =>
          records.filter(({ key, head }) => key.collection === 'events' && !leased.has(String(head.id)));
        const leased = new Set(
          before.filter(({ head }) => head.state === 'leased').map(({ head }) => head.id),
        );
        const tokenless = known(before).map((r) => ({ ...r, head: { ...r.head, leaseTokenHash: null } }));
        expect(known(after)).toEqual(tokenless);
        for (const { head, due } of after.filter((record) => leased.has(record.head.id ?? null))) {
          const from = Date.parse(String(head.notBeforeUtc ?? head.createdAtUtc));
          expect([head.state, due]).toEqual(
            head.deadLetteredAtUtc === null ? ['open', from] : ['dead-letter', null],
          );
        }
        const events = async ({ client }: typeof made) => (await client.queryOutbox({ limit: 1000 })).items;
        const unleased = { leaseOwner: null, leaseExpiresAtUtc: null };
        expect(await events(restored)).toEqual((await events(made)).map((e) => ({ ...e, ...unleased })));
        expect(await linesIn(restored)).toEqual(lines);
      }),
      { seed: 11, numRuns: 150 },
    );
  });

  test('has the same hash for any order in which the records were written', async () => {
    const made = await tenantOf(fc.sample(steps, { seed: 5, numRuns: 40 }).flat());
    const lines = await linesIn(made);
    const records = readLines(lines.map(({ line }) => line));
    expect(records.length).toBeGreaterThan(15);
    for (const shuffled of fc.sample(fc.shuffledSubarray(records, { minLength: records.length }), 5)) {
      expect(hashOf(await linesIn(await replaced(shuffled)))).toBe(hashOf(lines));
    }
  });

  test('holds no trace of a lease', async () => {
    const { store, client } = emptyTenant();
    const outbox = [1, 2, 3].map((n) => ({ id: `e${n}`, topic: 't', key: 'k', maxDeliveryAttempts: 1 }));
    await client.commit({ idempotencyKey: 'k', outbox });
    const before = await linesIn({ store, client });
    const [first, second] = await client.lease({ maxItems: 2, leaseSeconds: 60 });
    await client.ack(second?.event.id ?? '', second?.leaseToken ?? '');
    const leased = await linesIn({ store, client });
    const text = leased.map(({ line }) => line).join('');
    expect(text).not.toContain('consumer');
    expect(text).not.toContain('leaseTokenHash');
    expect(text.match(/"deliveryCount":1/g)).toHaveLength(2);
    expect(leased).not.toEqual(before);
    const heads = readLines(leased.map(({ line }) => line)).map(({ head }) => head);
    expect(heads).toContainEqual(
      expect.objectContaining({ id: first?.event.id, state: 'open', deliveryCount: 1, leaseTokenHash: null }),
    );
    // A last lease that ran out is a dead letter to every call, and so to an export.
    client.advance(61_000);
    const later = readLines((await linesIn({ store, client })).map(({ line }) => line));
    expect(later.map(({ head }) => head)).toContainEqual(
      expect.objectContaining({ id: first?.event.id, state: 'dead-letter' }),
    );
  });

  test('lacks the events that are gone, and only those', async () => {
    const { store, client } = await sampleTenant();
    const gone = { now: client.clock.now, isGone: ({ id }: { id: string }) => id === 'delivered' };
    const lines = await collected(snapshotLines('tenant-a', scanned(store, 'tenant-a'), gone));
    const all = await linesIn({ store, client });
    const isGone = ({ line }: { line: string }) =>
      line.startsWith('{"collection":"events"') && line.includes('"id":"delivered"');
    expect(lines).toEqual(all.filter((line) => !isGone(line)));
    expect(lines).toHaveLength(all.length - 1);
  });
});

/** Turns that count how often other calls may work. */
function countedTurns() {
  const counted = { taken: 0 };
  return { counted, turns: { due: () => true, next: () => Promise.resolve(void (counted.taken += 1)) } };
}

test('a receipt takes a turn for each document and event of its commit, and the line that hashes them one for 512 KiB', async () => {
  const { store, client } = emptyTenant();
  const mutations = Array.from({ length: 40 }, (_, n) =>
    client.upsert(`d/${n}`, { text: 'x'.repeat(50_000) }),
  );
  const outbox = Array.from({ length: 20 }, () => ({ topic: 't', key: 'k', payload: {}, headers: {} }));
  await client.commit({ idempotencyKey: 'large', mutations, outbox });
  const { counted, turns } = countedTurns();
  const tally = new SnapshotTally();
  const taken: number[] = [];
  for await (const line of snapshotLines(client.tenantId, scanned(store, client.tenantId), {
    now: 0,
    turns,
  })) {
    if (line.entry?.collection !== 'commits') continue;
    taken.push(counted.taken);
    await tally.addInTurns(line, turns);
    taken.push(counted.taken);
    expect(tally.bytes).toBe(Buffer.byteLength(line.line));
    expect(tally.counts.commits).toBe(1);
    const whole = new SnapshotTally();
    whole.add(line);
    expect(tally.contentHash()).toBe(whole.contentHash());
  }
  expect(taken).toEqual([60, 64]);
});

describe('an export of a store that breaks its word', () => {
  const corrupt = expect.objectContaining({ failure: 'corrupt' });
  const exported = (records: RecordData[]) =>
    collected(snapshotLines('tenant-a', eachOf([{ records }]), { now: 0 }));

  test('is given up', async () => {
    const { store } = await sampleTenant();
    const pages = await collected(scanned(store, 'tenant-a', 100));
    const records = pages.flatMap((page) => page.records);
    const [first, second] = records;
    if (first === undefined || second === undefined) throw new Error('too few records');
    await expect(exported([second, first])).rejects.toThrow(corrupt);
    await expect(exported([first, first])).rejects.toThrow(corrupt);
    const foreign = { ...first, key: { ...first.key, id: '0'.repeat(32) } };
    await expect(exported([foreign])).rejects.toThrow(corrupt);
    const unknown = { ...first, key: { ...first.key, collection: 'migrations' } };
    await expect(exported([unknown])).rejects.toThrow(corrupt);
  });
});

type Change = (value: never) => unknown;
const SECRET = 'S3CRET';
const MOMENT = '2026-01-02T03:04:05.000Z';

/** Where a line of this collection stands, changed and spelled canonically again. */
async function attacked(collection: string, change: Change): Promise<() => unknown> {
  const lines = (await linesIn(await sampleTenant())).map(({ line }) => line);
  const prefix = collection === 'head' ? '{"format"' : `{"collection":"${collection}`;
  const at = lines.findLastIndex((line) => line.startsWith(prefix));
  const value = JSON.parse(lines[at] ?? '') as Json;
  change(value as never);
  lines[at] = canonicalJson(value);
  return () => readLines(lines, 'tenant-a');
}

type Doc = { [member: string]: Json & object };
const set = (path: string, value: unknown): Change => {
  return (root: Doc) => {
    const names = path.split('/').slice(1);
    const last = names.pop() ?? '';
    const holder = names.reduce<Doc>((held, name) => held[name] as unknown as Doc, root);
    holder[last] = value as never;
  };
};
const drop = (path: string): Change => set(path, undefined);

type Held = { [member: string]: Held };

const attacks: [string, string, Change, SnapshotFault, string][] = [
  ['a newer version', 'head', set('/version', 2), 'newer_version', '/version'],
  ['a version of no release', 'head', set('/version', 0), 'invalid', '/version'],
  ['another format', 'head', set('/format', SECRET), 'invalid', '/format'],
  ['another tenant', 'head', set('/tenantId', SECRET), 'other_tenant', '/tenantId'],
  ['a tenant that is no path segment', 'head', set('/tenantId', 'a/b'), 'invalid', '/tenantId'],
  ['an unknown member of the head', 'head', set(`/${SECRET}`, 1), 'invalid', ''],
  ['an unknown collection', 'fences', set('/collection', 'migrations'), 'invalid', '/collection'],
  ['an unknown member of a line', 'fences', set(`/${SECRET}`, 1), 'invalid', ''],
  ['a missing member', 'fences', drop('/value/name'), 'invalid', '/value/name'],
  ['the key of another record', 'fences', set('/id', 'f'.repeat(32)), 'invalid', '/id'],
  ['a name that the key does not hold', 'fences', set('/value/value', SECRET), 'invalid', '/id'],
  ['a fence of another tenant', 'fences', set('/value/tenantId', SECRET), 'other_tenant', '/value/tenantId'],
  ['a value that is a list', 'events', set('/value', []), 'invalid', '/value/id'],
  ['a value that is null', 'documents', set('/value', null), 'invalid', '/value'],
  ['an unknown member of a document', 'documents', set(`/value/${SECRET}`, 1), 'invalid', '/value'],
  ['another etag', 'documents', set('/value/etag', SECRET), 'invalid', '/value/etag'],
  ['revision 0', 'documents', set('/value/revision', 0), 'invalid', '/value/revision'],
  ['a revision between two', 'documents', set('/value/revision', 1.5), 'invalid', '/value/revision'],
  ['a tombstone with data', 'documents', set('/value/deleted', true), 'invalid', '/value/data'],
  ['a document without data', 'documents', set('/value/data', null), 'invalid', '/value/data'],
  ['an id with white space', 'documents', set('/value/id', ` ${SECRET}`), 'invalid', '/value/id'],
  ['a long id', 'documents', set('/value/id', SECRET.repeat(40)), 'over_limit', '/value/id'],
  ['much data', 'documents', set('/value/data', { a: SECRET.repeat(160_000) }), 'over_limit', '/value/data'],
  ['a blank index', 'documents', set('/value/indexes', { a: ' ' }), 'invalid', '/value/indexes/a'],
  ['an index of no text', 'documents', set('/value/indexes', { a: 1 }), 'invalid', '/value/indexes/a'],
  [
    'a moment without milliseconds',
    'documents',
    set('/value/createdAtUtc', '2026-01-02T03:04:05Z'),
    'invalid',
    '/value/createdAtUtc',
  ],
  ['no moment at all', 'fences', set('/value/updatedAtUtc', SECRET), 'invalid', '/value/updatedAtUtc'],
  ['a lease', 'events', set('/value/leaseOwner', SECRET), 'invalid', '/value/leaseOwner'],
  ['a token hash', 'events', set('/value/leaseTokenHash', SECRET), 'invalid', '/value'],
  ['a count below 0', 'events', set('/value/deliveryCount', -1), 'invalid', '/value/deliveryCount'],
  [
    'a high ceiling',
    'events',
    set('/value/maxDeliveryAttempts', 100_001),
    'over_limit',
    '/value/maxDeliveryAttempts',
  ],
  ['a long error', 'events', set('/value/lastError', SECRET.repeat(700)), 'over_limit', '/value/lastError'],
  ['a blank header', 'events', set('/value/headers', { h: ' ' }), 'invalid', '/value/headers/h'],
  ['an event id with a slash', 'events', set('/value/id', 'a/b'), 'invalid', '/value/id'],
  [
    'an event both delivered and dead-lettered',
    'events',
    (line: { value: object }) =>
      Object.assign(line.value, { deliveredAtUtc: MOMENT, deadLetteredAtUtc: MOMENT }),
    'invalid',
    '/value/deadLetteredAtUtc',
  ],
  [
    'a request hash of bare digits',
    'commits',
    set('/value/requestHash', SECRET),
    'invalid',
    '/value/requestHash',
  ],
  ['another transaction', 'commits', set('/value/transactionId', SECRET), 'invalid', '/value/transactionId'],
  [
    'a result of another key',
    'commits',
    set('/value/result/idempotencyKey', SECRET),
    'invalid',
    '/value/result/idempotencyKey',
  ],
  ['a replayed result', 'commits', set('/value/result/replayed', true), 'invalid', '/value/result/replayed'],
  [
    'a receipt of another tenant',
    'commits',
    set('/value/result/tenantId', SECRET),
    'other_tenant',
    '/value/result/tenantId',
  ],
  [
    'a revision of another tenant',
    'commits',
    set('/value/result/documents/0/tenantId', SECRET),
    'other_tenant',
    '/value/result/documents/0/tenantId',
  ],
  [
    'a revision of another moment',
    'commits',
    set('/value/result/documents/0/updatedAtUtc', '2020-01-01T00:00:00.000Z'),
    'invalid',
    '/value/result/documents/0/updatedAtUtc',
  ],
];

describe('a line is refused, with its place and without its value, that holds', () => {
  test.each(attacks)('%s', async (_, collection, change, fault, pointer) => {
    const error = await faultOf(fault, await attacked(collection, change));
    expect(error.place.pointer ?? '').toBe(pointer);
    expect(error.place.line).toBeGreaterThan(0);
    expect(error.message).toContain(`line ${error.place.line}`);
    expect(error.message).not.toContain(SECRET);
  });

  test('more in one commit than a commit may hold', async () => {
    const call = await attacked('commits', (line: never) => {
      const { result } = (line as { value: { result: { documents: Json[] } } }).value;
      const [, document] = result.documents as { data: Json }[];
      const large = [1, 2, 3, 4].map((n) => ({ ...document, id: `l${n}`, data: { a: 'x'.repeat(800_000) } }));
      result.documents = large;
    });
    expect((await faultOf('over_limit', call)).message).toContain('together');
    const many = await attacked(
      'commits',
      set(
        '/value/result/documents',
        Array.from({ length: 101 }, () => 0),
      ),
    );
    expect((await faultOf('over_limit', many)).place.pointer).toBe('/value/result/documents');
  });

  test.each([
    ['deliveryCount', 1],
    ['lastError', SECRET],
    ['deliveredAtUtc', '2026-01-02T03:04:05.000Z'],
    ['deadLetteredAtUtc', '2026-01-02T03:04:05.000Z'],
    ['transactionId', SECRET],
  ])('an event that its receipt holds with another %s than written', async (member, value) => {
    const lines = GOLDEN_LINES.map((line) => JSON.parse(line) as Held);
    const receipt = lines.findIndex((line) => line['value']?.['idempotencyKey'] === ('create' as never));
    set(`/value/result/outbox/1/${member}`, value)(lines[receipt] as never);
    const call = () =>
      readLines(
        lines.map((line) => canonicalJson(line)),
        'tenant-a',
      );
    expect((await faultOf('invalid', call)).place).toEqual({
      line: receipt + 1,
      pointer: `/value/result/outbox/1/${member}`,
    });
  });

  test('the same document twice in one commit', async () => {
    const call = await attacked('commits', (line: never) => {
      const { documents } = (line as { value: { result: { documents: Json[] } } }).value.result;
      documents.push(documents[0] ?? null);
    });
    expect((await faultOf('duplicate', call)).place.pointer).toBe('/value/result/documents/2');
  });
});

describe('a stream is refused', () => {
  test('out of order, with a record twice, or without its head', async () => {
    const [head = '', ...lines] = (await linesIn(await sampleTenant())).map(({ line }) => line);
    for (let n = 1; n < lines.length; n++) {
      const [a = '', b = ''] = [lines[n - 1], lines[n]];
      const swapped = lines.with(n - 1, b).with(n, a);
      expect((await faultOf('order', () => readLines([head, ...swapped], 'tenant-a'))).place.line).toBe(
        n + 2,
      );
      const twice = lines.toSpliced(n, 0, a);
      expect((await faultOf('duplicate', () => readLines([head, ...twice], 'tenant-a'))).place.line).toBe(
        n + 2,
      );
    }
    await faultOf('invalid', () => readLines(lines, 'tenant-a'));
    await faultOf('invalid', () => readLines([head, head, ...lines], 'tenant-a'));
    expect((await faultOf('incomplete', () => readLines([]))).place.line).toBe(1);
  });

  const head = snapshotHeadLine(TENANT).trimEnd();
  test.each([
    ['a space', `${head} `],
    ['a carriage return', `${head}\r`],
    ['nothing', ''],
    ['half a line', head.slice(0, -1)],
    ['members in another order', `{"version":1,"format":"svc.canonical.snapshot","tenantId":"${TENANT}"}`],
    ['an escape that is not needed', head.replace('"version"', '"\\u0076ersion"')],
    ['a member twice', head.replace('"version":1', '"version":1,"version":1')],
    ['another spelling of a number', head.replace(':1}', ':1.0}')],
    ['a byte order mark', `\uFEFF${head}`],
    ['a lone surrogate', head.replace(TENANT, '\uD800')],
    ['a list', '[]'.repeat(1)],
    ['deep nesting', '['.repeat(100_000)],
  ])('with %s', async (what, line) => {
    await faultOf(what === 'a list' ? 'invalid' : 'malformed', () =>
      new SnapshotLineReader(TENANT).read(line),
    );
  });

  test('with a line beyond all limits', async () => {
    await faultOf('over_limit', () =>
      new SnapshotLineReader(TENANT).read(`"${'x'.repeat(16 * 1024 * 1024)}"`),
    );
  });
});
