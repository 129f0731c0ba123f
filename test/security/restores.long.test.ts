import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Json } from '../../contracts/generate/schema.ts';
import type { CanonicalTenantSnapshot } from '../../contracts/generated/models.ts';
import { canonicalJson } from '../../functions/kernel/canonical-json.ts';
import { cases, forAll, patienceMs } from '../support/effort.ts';
import { hurried, type RunningService, startService } from '../support/service.ts';
import { noAnswers } from './arbitrary.ts';
import { CopiedTenant, enrich } from './copied-tenant.ts';
import { type Damage, damages, kindOf, otherMoment } from './damage.ts';
import { BrokenPromise, judge } from './oracle.ts';
import { requestOf, validDrafts } from './requests.ts';
import { contractModels, type SchemaSet } from './schema-set.ts';
import { contentOf, emptySnapshot, resealed } from './seal.ts';
import { allEntries, routesOf } from './target.ts';
import { WriteWatch } from './writes.ts';

vi.setConfig({ testTimeout: patienceMs });

/** A text that no caller may see again outside the answers that are the tenant's content. */
const mark = `mark${randomUUID().replaceAll('-', '')}`;
const restoring = allEntries.find(({ id }) => id === 'restoreCanonicalTenant');

const clock = { now: Date.UTC(2026, 0, 2) };
let service: RunningService;
let set: SchemaSet;
let watch: WriteWatch;
let tenant: CopiedTenant;
let snapshot: CanonicalTenantSnapshot;
beforeAll(async () => {
  service = await startService({ world: { ...hurried, clock: { now: () => clock.now } } });
  set = contractModels();
  tenant = new CopiedTenant(service);
  await enrich(tenant, clock, mark);
  snapshot = await tenant.snapshot();
  watch = new WriteWatch(service);
});
afterAll(async () => {
  watch.close();
  await service.close();
});

/** Restores and judges the answer: a refusal has written nothing, and quotes nothing of the request. */
async function attempt(given: unknown, more: object = {}, of = tenant) {
  await watch.settled();
  const { version } = watch;
  const answer = await of.restore(given, more);
  if (restoring === undefined) throw new Error('there is no restore');
  const verdict = judge(set, restoring, answer);
  if (verdict.accepted) return 'accepted';
  if (watch.version !== version) throw new BrokenPromise('refused, and wrote', answer);
  if (answer.body.includes(mark)) throw new BrokenPromise('a refusal quotes the content', answer);
  return verdict.code;
}

/** The order of these lists is that of a sort, and no content. */
const unordered = (place: string) => /^[a-z]+$/.test(place);

/** The changes that the hash does not cover, by name; every other one is refused. */
const notCovered = [
  'exportedAtUtc: a moment',
  'outbox/*/leaseExpiresAtUtc: a moment',
  'outbox/*/leaseOwner: a moment',
  'outbox/*/leaseOwner: a text',
];

describe('a changed snapshot', () => {
  test('M04: a change of any value, member or item is refused, and nothing is replaced', async () => {
    const accepted = new Set<string>();
    const codes = new Map<string, number>();
    let count = 0;
    for (const damage of damages(snapshot, unordered)) {
      count += 1;
      const code = await attempt(damage.value);
      codes.set(code, (codes.get(code) ?? 0) + 1);
      if (code === 'accepted') accepted.add(kindOf(damage));
    }
    expect([...accepted].sort()).toEqual(notCovered);
    expect(await tenant.hash()).toBe(snapshot.contentHash);
    expect(service.lines).toEqual([]);
    // Refused at every stage: by the model, by the rules, and where these had nothing to say by the hash.
    expect(count).toBeGreaterThan(2_000);
    for (const code of [
      'validation_failed',
      'tenant_mismatch',
      'duplicate_in_request',
      'content_hash_mismatch',
    ])
      expect(codes.get(code), code).toBeGreaterThan(10);
  });

  test('M04: a lease that was written into the snapshot leases no event', async () => {
    const leaseExpiresAtUtc = otherMoment;
    const outbox = snapshot.outbox.map((event) => ({ ...event, leaseOwner: mark, leaseExpiresAtUtc }));
    expect(await attempt({ ...snapshot, outbox })).toBe('accepted');
    const { outbox: now } = await tenant.snapshot();
    expect(now).toEqual(snapshot.outbox);
    const states = await tenant.done<{ items: unknown[] }>('outbox/query', { state: 'leased' });
    expect(states.items).toEqual([]);
  });

  test('M07: content that differs from the expected hash, or from the hash in the snapshot, is refused', async () => {
    const other = emptySnapshot(tenant.id).contentHash;
    expect(await attempt(snapshot, { expectedContentHash: other })).toBe('content_hash_mismatch');
    const contrary = { ...snapshot, contentHash: other };
    expect(await attempt(contrary)).toBe('content_hash_mismatch');
    expect(await attempt(contrary, { expectedContentHash: snapshot.contentHash })).toBe(
      'content_hash_mismatch',
    );
    for (const spelling of [
      other.toUpperCase(),
      other.slice(7),
      `${other} `,
      other.replace('256', '512'),
      '',
    ])
      expect(['validation_failed', 'limit_exceeded']).toContain(
        await attempt(snapshot, { expectedContentHash: spelling }),
      );
    expect(await attempt(snapshot, { expectedContentHash: snapshot.contentHash })).toBe('accepted');
    expect(await attempt(snapshot, { expectedContentHash: null })).toBe('accepted');
  });

  test('M10: the same content in another order is the same content', async () => {
    await forAll('orders', 40, fc.infiniteStream(fc.nat()), async (numbers) => {
      const shuffle = <T>(items: readonly T[]): T[] => shuffled(items, numbers);
      const lists = Object.entries(snapshot).map(([name, value]) => [
        name,
        Array.isArray(value) ? shuffle(value as readonly Json[]) : value,
      ]);
      const given = membersShuffled(Object.fromEntries(lists) as Json, shuffle);
      expect(await attempt(given, { expectedContentHash: snapshot.contentHash })).toBe('accepted');
      const { exportedAtUtc: _, ...now } = await tenant.snapshot();
      expect({ ...snapshot, ...now }).toEqual(snapshot);
    });
  });

  test('M08: the same restore twice, and ten at once, have the effect of one', async () => {
    for (let n = 0; n < 2; n += 1) expect(await attempt(snapshot)).toBe('accepted');
    const answers = await Promise.all(Array.from({ length: 10 }, () => tenant.restore(snapshot)));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 204));
    expect(await tenant.hash()).toBe(snapshot.contentHash);
  });

  test('G05: __proto__ and its like, in every object of it', async () => {
    const text = JSON.stringify({ snapshot });
    const before = Object.getOwnPropertyNames(Object.prototype);
    for (const name of ['"__proto__"', '"\\u005f_proto__"', '"constructor"', '"prototype"']) {
      for (const { index } of text.matchAll(/\{/g)) {
        const trap = `${name}:{"polluted":true,"prototype":{"polluted":true}}`;
        const next = text[index + 1] === '}' ? '' : ',';
        const body = `${text.slice(0, index + 1)}${trap}${next}${text.slice(index + 1)}`;
        const answer = await tenant.post('restore', body);
        expect(answer.status, `${name} at ${index}`).toBe(400);
        expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
      }
    }
    expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before);
    expect(await tenant.hash()).toBe(snapshot.contentHash);
  });
});

describe('M06: a snapshot of one tenant and another tenant', () => {
  /** The snapshot with the name of its tenant replaced wherever it stands. */
  const renamed = (to: string) =>
    JSON.parse(
      JSON.stringify(snapshot).replaceAll(JSON.stringify(tenant.id), JSON.stringify(to)),
    ) as CanonicalTenantSnapshot;

  test('it is refused there, and so is a renamed snapshot', async () => {
    const other = new CopiedTenant(service);
    await other.commit('own', { mutations: [other.upsert('own', {})] });
    const own = await other.hash();
    expect(await attempt(snapshot, {}, other)).toBe('tenant_mismatch');
    expect(await attempt(resealed({ ...snapshot, tenantId: other.id }), {}, other)).toBe('tenant_mismatch');
    expect(await attempt(renamed(other.id), {}, other)).toBe('validation_failed');
    // The ids of transactions follow from tenant and key, so a history cannot be passed off as another tenant's.
    expect(await attempt(resealed(renamed(other.id)), {}, other)).toBe('validation_failed');
    expect(await attempt({ ...snapshot, fences: [], documents: [], tenantId: other.id }, {}, other)).toBe(
      'tenant_mismatch',
    );
    expect(await other.hash()).toBe(own);
    expect(await tenant.hash()).toBe(snapshot.contentHash);
  });

  test('records of another tenant among its own are refused, under a hash that holds', async () => {
    const stranger = new CopiedTenant(service);
    await enrich(stranger, clock, `foreign${randomUUID().slice(0, 8)}`);
    const foreign = await stranger.snapshot();
    for (const list of ['documents', 'revisions', 'fences', 'outbox', 'transactions'] as const) {
      const mixed = { ...snapshot, [list]: [...snapshot[list], ...foreign[list]] };
      const code = await attempt(resealed(mixed));
      expect([list, code]).toEqual([list, list === 'revisions' ? 'validation_failed' : 'tenant_mismatch']);
    }
    expect(await tenant.hash()).toBe(snapshot.contentHash);
  });

  test('a restore leaves every other tenant alone', async () => {
    const others = await Promise.all(
      ['x', tenant.id.toUpperCase(), `${tenant.id}x`, '__proto__'].map(async (id) => {
        const other = new CopiedTenant(service, id);
        await other.commit('own', { mutations: [other.upsert('own', { id })] });
        return { other, hash: await other.hash() };
      }),
    );
    expect(await attempt(emptySnapshot(tenant.id))).toBe('accepted');
    expect(await attempt(snapshot)).toBe('accepted');
    for (const { other, hash } of others) expect(await other.hash()).toBe(hash);
  });
});

describe('a forged snapshot with a valid hash', () => {
  test('is refused where a document is not at the last of its revisions', async () => {
    const [first, ...others] = snapshot.documents;
    if (first === undefined) throw new Error('there is no document');
    const at = (revision: number) => ({ ...first, revision, etag: `rev:${revision}` });
    for (const documents of [
      [],
      others,
      [at(first.revision - 1), ...others],
      [at(first.revision + 1), ...others],
    ])
      expect(await attempt(resealed({ ...snapshot, documents }))).toBe('validation_failed');
    // And where one of these is missing, which the receipt of its commit alone holds.
    const transactions = snapshot.transactions.map((receipt) => {
      const written = receipt.result.documents.filter(
        ({ id, revision }) => id !== first.id || revision !== 1,
      );
      return { ...receipt, result: { ...receipt.result, documents: written } };
    });
    const revisions = snapshot.revisions.filter(({ id, revision }) => id !== first.id || revision !== 1);
    expect(await attempt(resealed({ ...snapshot, transactions, revisions }))).toBe('validation_failed');
    expect(await tenant.hash()).toBe(snapshot.contentHash);
  });

  test('is refused, or becomes the content of the tenant and is served so', async () => {
    const all = [...damages(snapshot, unordered)];
    const used = uses();
    const outcomes = new Map<string, number>();
    await forAll('made', 500, fc.tuple(fc.nat(all.length - 1), fc.nat()), async ([at, seed]) => {
      const given = sealedIfItCan(all[at] as Damage);
      const code = await attempt(given);
      outcomes.set(code, (outcomes.get(code) ?? 0) + 1);
      if (code !== 'accepted') return;
      const now = await tenant.snapshot();
      expect(now.contentHash).toBe(given.contentHash);
      expect(contentOf(now)).toBe(contentOf(given));
      // After every restore the operations answer by their contract.
      for (const { place, drafts } of used) {
        const [draft] = fc.sample(drafts, { numRuns: 1, seed });
        if (draft !== undefined) judge(set, place.entry, await service.call(requestOf(place, draft)));
      }
      // The tenant that they leave can be copied.
      expect(await attempt(await tenant.snapshot()), (all[at] as Damage).label).toBe('accepted');
    });
    expect(await attempt(snapshot)).toBe('accepted');
    expect(service.lines).toEqual([]);
    expect(outcomes.get('accepted')).toBeGreaterThan(cases(500) / 50);
    expect(outcomes.get('validation_failed')).toBeGreaterThan(cases(500) / 10);
  });
});

/** Seals the snapshot again; one without a canonical form stays as it is. */
function sealedIfItCan({ value }: Damage): CanonicalTenantSnapshot {
  const given = value as unknown as CanonicalTenantSnapshot;
  try {
    return resealed(given);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return given;
  }
}

/** Ordinary requests to the tenant, about its content. */
function uses() {
  const vocabulary = new Map([
    ['documentType', snapshot.documents.map(({ documentType }) => documentType)],
    ['id', snapshot.documents.map(({ id }) => id)],
    ['eventId', snapshot.outbox.map(({ id }) => id)],
    ['idempotencyKey', snapshot.transactions.map(({ idempotencyKey }) => idempotencyKey)],
  ]);
  return routesOf(allEntries)
    .filter(({ entry, route }) => {
      return entry.accessOperation !== 'restore' && route.path.some(({ name }) => name === 'tenantId');
    })
    .map(({ entry, route }) => {
      const place = { set, entry, route, fixed: { tenantId: tenant.id }, vocabulary, answers: noAnswers };
      return { place, drafts: validDrafts(place) };
    });
}

function shuffled<T>(items: readonly T[], numbers: fc.Stream<number>): T[] {
  return items
    .map((item) => ({ item, place: numbers.next().value as number }))
    .sort((left, right) => left.place - right.place)
    .map(({ item }) => item);
}

function membersShuffled(value: Json, shuffle: <T>(items: readonly T[]) => T[]): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return (value as readonly Json[]).map((item) => membersShuffled(item, shuffle));
  const members = shuffle(Object.entries(value));
  return Object.fromEntries(members.map(([name, member]) => [name, membersShuffled(member, shuffle)]));
}

test('the hash of a snapshot is the one that its format says', async () => {
  expect(resealed(snapshot)).toEqual(snapshot);
  expect(canonicalJson(snapshot)).toContain(mark);
});
