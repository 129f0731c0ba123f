import * as fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import type {
  CanonicalDocument,
  CanonicalDocumentQuery,
  CanonicalMutation,
} from '../../contracts/generated/models.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { refused, TenantClient } from '../support/canonical.ts';
import type { Conformance } from './canonical-suite.ts';

type Query = Omit<CanonicalDocumentQuery, 'tenantId' | 'continuationToken'>;

/**
 * U+E000 to U+FFFF beside surrogate pairs distinguish bytes from UTF-16 units; the rest are prefixes and odd characters.
 */
const values = [
  'a',
  'aa',
  'a b',
  'b',
  'B',
  'é',
  '~',
  '"\\',
  '\uE000',
  '\uFFFD',
  '😀',
  '😀a',
  '\u{10FFFF}',
  '€'.repeat(300),
];
const names = ['status', 'rank', 'due on', '😀 "q"\\.`/', 'constructor'];
const types = ['claim', 'claims', 'Note', 'a/b', '😀'];
const ids = ['a', 'B', 'é', '\uE000', '😀', 'a/b', 'x'.repeat(100)];
const DOCUMENTS = 60;

export function describeQueries({ store, rivals }: Conformance): void {
  describe('queries', () => {
    describe('against brute force', () => {
      let tenant: TenantClient;
      let stored: readonly CanonicalDocument[];
      beforeAll(async () => {
        tenant = new TenantClient(store());
        stored = await fill(tenant);
        // A second tenant holds equal documents, which no query of the first may return.
        await fill(new TenantClient(store()));
      });

      test('all pages together equal the result of brute force, in its order', async () => {
        await fc.assert(
          fc.asyncProperty(queryArbitrary, async (query) => {
            const listed = await everything(tenant, query);
            expect(listed.map(nameOf)).toEqual(bruteForce(stored, query).map(nameOf));
          }),
          { numRuns: rivals >= 50 ? 150 : 20 },
        );
      });

      test('a page shows documents as a read shows them', async () => {
        const [first] = (await tenant.query({ limit: 1 })).items;
        expect(first).toEqual(await tenant.read(first?.documentType ?? '', first?.id ?? ''));
      });

      test('every page size gives the same whole', async () => {
        const whole = await everything(tenant, { orderByIndex: 'rank', limit: 1000 });
        for (const limit of [1, 2, 7, whole.length, whole.length + 1]) {
          expect((await everything(tenant, { orderByIndex: 'rank', limit })).map(nameOf)).toEqual(
            whole.map(nameOf),
          );
        }
      });
    });

    test('the issue of a token ends with the last document', async () => {
      const tenant = await ranked(store(), ['1', '3', '1']);
      const query = { orderByIndex: 'rank', orderDirection: 'descending' as const, limit: 1 };
      const pages = [await tenant.query(query)];
      for (let token = pages[0]?.continuationToken ?? null; token !== null; ) {
        const page = await tenant.query({ ...query, continuationToken: token });
        pages.push(page);
        token = page.continuationToken;
      }
      expect(pages.flatMap(({ items }) => items.map(({ id }) => id))).toEqual(['e-1', 'e-2', 'e-0']);
    });

    test('an unknown tenant, type or index has an empty answer', async () => {
      const tenant = await ranked(store(), ['1']);
      const none = { items: [], continuationToken: null };
      expect(await new TenantClient(store()).query({})).toEqual(none);
      expect(await tenant.query({ documentType: 'other' })).toEqual(none);
      expect(await tenant.query({ orderByIndex: 'other' })).toEqual(none);
      expect(await tenant.query({ indexes: { rank: '1', other: '1' } })).toEqual(none);
    });

    test('a query finds a document by its current indexes: a write moves it, a delete removes it', async () => {
      const tenant = await ranked(store(), ['1', '2']);
      await tenant.commit({ mutations: [tenant.upsert('e-0', {}, { indexes: { rank: '9' } })] });
      expect(await idsOf(tenant, { indexes: { rank: '1' } })).toEqual([]);
      expect(await idsOf(tenant, { indexes: { rank: '9' } })).toEqual(['e-0']);
      await tenant.commit({ mutations: [tenant.remove('e-0')] });
      expect(await idsOf(tenant, { indexes: { rank: '9' } })).toEqual([]);
      expect(await idsOf(tenant, { orderByIndex: 'rank', includeDeleted: true })).toEqual(['e-1']);
      expect(await idsOf(tenant, {})).toEqual(['e-1']);
      expect(await idsOf(tenant, { includeDeleted: true })).toEqual(['e-0', 'e-1']);
      const [tombstone] = (await tenant.query({ includeDeleted: true })).items;
      expect(tombstone).toMatchObject({ deleted: true, data: null, indexes: {}, revision: 3 });
    });

    test('a token belongs to its query, its tenant and its operation', async () => {
      const tenant = await ranked(store(), ['1', '2', '3']);
      const { continuationToken } = await tenant.query({ orderByIndex: 'rank', limit: 1 });
      const again = { orderByIndex: 'rank', continuationToken };
      expect((await tenant.query({ ...again, limit: 2 })).items.map(({ id }) => id)).toEqual(['e-1', 'e-2']);
      const others: Partial<CanonicalDocumentQuery>[] = [
        { continuationToken },
        { ...again, orderDirection: 'descending' },
        { ...again, documentType: 'claim' },
        { ...again, indexes: { rank: '1' } },
        { ...again, includeDeleted: true },
        { ...again, indexRange: { name: 'rank', lessThanOrEqual: '3' } },
        { ...again, continuationToken: `${continuationToken}A` },
        { ...again, continuationToken: '' },
      ];
      for (const query of others) await refused('continuation_token_invalid', tenant.query(query));
      const stranger = await ranked(store(), ['1', '2']);
      await refused('continuation_token_invalid', stranger.query(again));
      await refused(
        'continuation_token_invalid',
        tenant.queryOutbox({ continuationToken: continuationToken ?? '' }),
      );
    });

    test('a token from before a restore is refused with the reason', async () => {
      const tenant = await ranked(store(), ['1', '2', '3']);
      const query = { orderByIndex: 'rank', limit: 1 };
      const { continuationToken } = await tenant.query(query);
      await tenant.restore(await tenant.export());
      const refusal = tenant.query({ ...query, continuationToken });
      await expect(refusal).rejects.toMatchObject({
        code: 'continuation_token_invalid',
        message: expect.stringContaining('restored') as unknown,
      });
      const again = await tenant.query(query);
      const rest = await tenant.query({ ...query, continuationToken: again.continuationToken, limit: 9 });
      expect([...again.items, ...rest.items].map(({ id }) => id)).toEqual(['e-0', 'e-1', 'e-2']);
    });

    test('a page of large documents is short, and has a token for the rest', async () => {
      const tenant = new TenantClient(store());
      const text = 'x'.repeat(800_000);
      for (let n = 0; n < 15; n += 3) {
        const mutations = [n, n + 1, n + 2].map((at) => tenant.upsert(`large-${10 + at}`, { text }));
        await tenant.commit({ mutations });
      }
      const first = await tenant.query({});
      // 8 Mi characters, and the document that passes them.
      expect(first.items).toHaveLength(11);
      expect(await tenant.queryHeaders()).toEqual({ 'Svc-Truncated': 'true' });
      expect(await tenant.queryHeaders({ limit: 2 })).toEqual({});
      const rest = await tenant.query({ continuationToken: first.continuationToken });
      expect([...first.items, ...rest.items].map(({ id }) => id)).toEqual(
        Array.from({ length: 15 }, (_, n) => `large-${10 + n}`),
      );
      expect(rest.continuationToken).toBeNull();
    });

    test('a direction without an index to order by changes nothing', async () => {
      const tenant = await ranked(store(), ['1', '2']);
      expect(await idsOf(tenant, { orderDirection: 'descending' })).toEqual(['e-0', 'e-1']);
    });

    test.each<[string, Partial<CanonicalDocumentQuery>, string]>([
      ['a range without a bound', { indexRange: { name: 'rank' } }, '/indexRange'],
      [
        'a blank bound',
        { indexRange: { name: 'rank', lessThanOrEqual: ' ' } },
        '/indexRange/lessThanOrEqual',
      ],
      ['a blank index name', { orderByIndex: ' ' }, '/orderByIndex'],
      ['a blank index value', { indexes: { rank: '\t' } }, '/indexes/rank'],
      ['U+0000 in a value', { indexes: { rank: 'a\0' } }, '/indexes/rank'],
      ['a lone surrogate', { indexRange: { name: '\ud800', lessThanOrEqual: 'a' } }, '/indexRange/name'],
      ['a blank type', { documentType: '  ' }, '/documentType'],
    ])('%s is refused', async (_, query, pointer) => {
      const error = await refused('validation_failed', new TenantClient(store()).query(query));
      expect(error.extensions).toMatchObject({ errors: [{ pointer }] });
    });

    test.each<[string, Partial<CanonicalDocumentQuery>]>([
      ['too many bytes in a value', { indexes: { rank: '€'.repeat(301) } }],
      ['too many bytes in a name', { orderByIndex: '€'.repeat(22) }],
    ])('%s are refused', async (_, query) => {
      await refused('limit_exceeded', new TenantClient(store()).query(query));
    });
  });
}

/** Documents `e-0`, `e-1` and so on, of these ranks. */
async function ranked(store: RecordStore, ranks: readonly string[]) {
  const tenant = new TenantClient(store);
  const mutations = ranks.map((rank, index) => tenant.upsert(`e-${index}`, {}, { indexes: { rank } }));
  await tenant.commit({ mutations });
  return tenant;
}

async function idsOf(tenant: TenantClient, query: Query): Promise<string[]> {
  return (await tenant.query(query)).items.map(({ id }) => id);
}

async function everything(tenant: TenantClient, query: Query): Promise<CanonicalDocument[]> {
  const items: CanonicalDocument[] = [];
  let continuationToken: string | null = null;
  do {
    const page = await tenant.query({ ...query, continuationToken });
    items.push(...page.items);
    continuationToken = page.continuationToken;
  } while (continuationToken !== null);
  return items;
}

/** Writes documents, then changes and deletes a part of them, so that a stale index entry would show. */
async function fill(tenant: TenantClient): Promise<CanonicalDocument[]> {
  const drawn = fc.sample(indexesArbitrary, { numRuns: DOCUMENTS * 2, seed: 17 });
  const nameAt = (at: number) => ({
    documentType: types[at % types.length] ?? '',
    id: `${ids[at % ids.length]}${at}`,
  });
  const write = (at: number, from: number): CanonicalMutation => {
    const { documentType, id } = nameAt(at);
    return tenant.upsert(id, { at }, { documentType, indexes: drawn[from] ?? {} });
  };
  const all = Array.from({ length: DOCUMENTS }, (_, at) => at);
  const documents = new Map<string, CanonicalDocument>();
  const commit = async (mutations: CanonicalMutation[]) => {
    const result = await tenant.commit({ mutations });
    for (const document of result.documents) documents.set(nameOf(document), document);
  };
  await commit(all.map((at) => write(at, at)));
  await commit(all.filter((at) => at % 5 === 0).map((at) => write(at, DOCUMENTS + at)));
  const gone = all.filter((at) => at % 7 === 0).map(nameAt);
  await commit(gone.map(({ documentType, id }) => tenant.remove(id, null, documentType)));
  return [...documents.values()];
}

function nameOf({ documentType, id }: CanonicalDocument): string {
  return JSON.stringify([documentType, id]);
}

/** One value is common, so that an equality on it finds much. */
const valueArbitrary = fc.oneof(fc.constant('a'), fc.constantFrom(...values));
const nameArbitrary = fc.constantFrom(...names);
const indexesArbitrary = fc.dictionary(nameArbitrary, valueArbitrary, { maxKeys: 4, noNullPrototype: true });

const queryArbitrary: fc.Arbitrary<Query> = fc.record(
  {
    documentType: fc.option(fc.constantFrom(...types)),
    indexes: fc.dictionary(nameArbitrary, valueArbitrary, { maxKeys: 3, noNullPrototype: true }),
    indexRange: fc
      .record({
        name: nameArbitrary,
        greaterThanOrEqual: fc.option(valueArbitrary),
        lessThanOrEqual: fc.option(valueArbitrary),
      })
      .filter(({ greaterThanOrEqual, lessThanOrEqual }) => (greaterThanOrEqual ?? lessThanOrEqual) !== null),
    orderByIndex: fc.option(nameArbitrary),
    orderDirection: fc.constantFrom('ascending' as const, 'descending' as const),
    includeDeleted: fc.boolean(),
    limit: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.constantFrom(59, 60, 1000)),
  },
  { requiredKeys: [] },
);

function bruteForce(documents: readonly CanonicalDocument[], query: Query): CanonicalDocument[] {
  const order = query.orderByIndex ?? null;
  const sign = order !== null && query.orderDirection === 'descending' ? -1 : 1;
  const valueOf = ({ indexes }: CanonicalDocument, name: string) =>
    Object.hasOwn(indexes, name) ? indexes[name] : undefined;
  return documents
    .filter((document) => {
      if (document.deleted && query.includeDeleted !== true) return false;
      if ((query.documentType ?? document.documentType) !== document.documentType) return false;
      if (order !== null && valueOf(document, order) === undefined) return false;
      const equal = Object.entries(query.indexes ?? {});
      return equal.every(([name, value]) => valueOf(document, name) === value) && inRange(document, query);
    })
    .sort((left, right) => {
      const byValue = order === null ? 0 : bytes(valueOf(left, order) ?? '', valueOf(right, order) ?? '');
      return sign * (byValue || bytes(left.documentType, right.documentType) || bytes(left.id, right.id));
    });
}

function inRange({ indexes }: CanonicalDocument, { indexRange }: Query): boolean {
  if (indexRange === undefined || indexRange === null) return true;
  const { name, greaterThanOrEqual, lessThanOrEqual } = indexRange;
  const value = Object.hasOwn(indexes, name) ? indexes[name] : undefined;
  if (value === undefined) return false;
  return bytes(value, greaterThanOrEqual ?? value) >= 0 && bytes(value, lessThanOrEqual ?? value) <= 0;
}

function bytes(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}
