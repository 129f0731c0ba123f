import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { CanonicalMigrationInput } from '../../contracts/generated/models.ts';
import type { CanonicalDependencies } from '../../functions/groups/canonical/dependencies.ts';
import { listCanonicalMigrations } from '../../functions/groups/canonical/migration/migration-operations.ts';
import { changed, eachOf } from '../../functions/groups/canonical/preflight/preflight-stores.fixture.ts';
import { tenantScope } from '../../functions/groups/canonical/records.ts';
import { PageTokens } from '../../functions/kernel/page-token.ts';
import type { ListSelection, Moment, RecordStore } from '../../functions/store/port.ts';
import { callAt, handlersOver, refused, START, TenantClient } from '../support/canonical.ts';
import type { Conformance } from './canonical-suite.ts';

type Batch = readonly CanonicalMigrationInput[];

/** The ledger of the deployment, called as a handler calls it. It is shared, so each test has namespaces of its own. */
class Ledger {
  readonly namespace = `ns-${randomUUID()}`;
  readonly clock = { now: START };
  readonly #handlers;

  constructor(store: RecordStore) {
    this.#handlers = handlersOver(store, this.clock);
  }

  async apply(batch: Batch) {
    const input = { params: {}, query: {}, body: batch };
    const { status, body } = await this.#handlers.applyCanonicalMigrations(input, callAt(this.clock.now));
    expect([status, body]).toEqual([204, null]);
  }

  async listAll() {
    const input = { params: {}, query: {}, body: null };
    return (await this.#handlers.listCanonicalMigrations(input, callAt(this.clock.now))).body;
  }

  /** The migrations of this test: its namespaces share one prefix. */
  async list() {
    return (await this.listAll()).filter(({ namespace }) => namespace.startsWith(this.namespace));
  }

  async ids() {
    return (await this.list()).map(({ id }) => id);
  }

  async count() {
    const input = { params: {}, query: {}, body: null };
    const answer = await this.#handlers.preflightCanonicalStore(input, callAt(this.clock.now));
    return answer.body.migrationReceiptCount;
  }

  migration(id: string, checksum = `sha256:${id}`, description: string | null = null) {
    return { namespace: this.namespace, id, checksum, description };
  }

  many(count: number, prefix = ''): Batch {
    return Array.from({ length: count }, (_, n) => this.migration(`${prefix}${String(n).padStart(4, '0')}`));
  }
}

const pageTokens = new PageTokens(() => Promise.resolve(Buffer.alloc(32)));

/** One page of a list, with at most this many migrations. */
async function pageOf(store: RecordStore, listedMax: number, continuationToken?: string) {
  const dependencies = { store: async () => store, pageTokens } as unknown as CanonicalDependencies;
  const query = continuationToken === undefined ? {} : { continuationToken };
  const list = listCanonicalMigrations(dependencies, listedMax);
  const { body, headers } = await list({ params: {}, query, body: null }, callAt(START));
  return { body, headers: { ...headers } as Record<string, string | undefined> };
}

export function describeMigrations({ store, rivals }: Conformance): void {
  describe('migration ledger', () => {
    it('records a batch, trimmed, and lists it by namespace, then id, in the order of UTF-8', async () => {
      const ledger = new Ledger(store());
      const { namespace } = ledger;
      // In UTF-16 units the order of the last two would be the other way round.
      const ids = ['0001', '0002-b', '0010', 'Z', 'a', 'z/%..', 'ｚ', '😀'];
      await ledger.apply([
        { namespace: `${namespace}-b`, id: 'a', checksum: 'c' },
        ...[...ids].reverse().map((id) => ledger.migration(` ${id} `, ' sha256:1 ', '  For\tpeople\n ')),
        { namespace: ` ${namespace}-a `, id: 'b', checksum: 'c', description: ' ' },
      ]);
      const appliedAtUtc = new Date(START).toISOString();
      expect(await ledger.list()).toEqual([
        ...ids.map((id) => ({
          ...ledger.migration(id, 'sha256:1', 'For\tpeople'),
          appliedAtUtc,
        })),
        { namespace: `${namespace}-a`, id: 'b', checksum: 'c', description: null, appliedAtUtc },
        { namespace: `${namespace}-b`, id: 'a', checksum: 'c', description: null, appliedAtUtc },
      ]);
    });

    it('keeps its migrations when they are repeated, and adds the others', async () => {
      const ledger = new Ledger(store());
      await ledger.apply([ledger.migration('1', 'sha256:1', 'first')]);
      const before = await ledger.list();
      const count = await ledger.count();
      ledger.clock.now += 1000;
      await ledger.apply([ledger.migration(' 1', 'sha256:1 ', 'second')]);
      expect([await ledger.list(), await ledger.count()]).toEqual([before, count]);
      await ledger.apply([ledger.migration('1', 'sha256:1', 'third'), ledger.migration('2')]);
      expect(await ledger.list()).toEqual([
        ...before,
        { ...ledger.migration('2'), appliedAtUtc: new Date(START + 1000).toISOString() },
      ]);
      expect(await ledger.count()).toBe(count + 1);
    });

    it('refuses the whole batch for one other checksum, and points at it', async () => {
      const ledger = new Ledger(store());
      await ledger.apply([ledger.migration('2')]);
      const count = await ledger.count();
      const batch = ['0', '1', '3', '2', '4'].map((id) =>
        ledger.migration(id, id === '2' ? 'sha256:other' : 'sha256:1'),
      );
      const error = await refused('migration_checksum_conflict', ledger.apply(batch));
      expect(error.extensions.errors?.[0]?.pointer).toBe('/3/checksum');
      // The refusal does not reveal the recorded checksum.
      expect(JSON.stringify([error.message, error.extensions])).not.toContain('sha256:2');
      expect([await ledger.ids(), await ledger.count()]).toEqual([['2'], count]);
      // Checksums are texts: no form of them means the same as another.
      await refused('migration_checksum_conflict', ledger.apply([ledger.migration('2', 'SHA256:2')]));
    });

    it('takes a migration twice in one batch for one, unless it contradicts itself', async () => {
      const ledger = new Ledger(store());
      const count = await ledger.count();
      await ledger.apply([ledger.migration('1', 'c', 'first'), ledger.migration('1 ', ' c', 'second')]);
      expect((await ledger.list()).map((receipt) => receipt.description)).toEqual(['first']);
      expect(await ledger.count()).toBe(count + 1);
      for (const other of ['1', '2']) {
        const batch = [ledger.migration('2', 'c'), ledger.migration('1', 'c'), ledger.migration(other, 'd')];
        const error = await refused('duplicate_in_request', ledger.apply(batch));
        expect(error.extensions.errors?.[0]?.pointer).toBe('/2/checksum');
      }
      expect(await ledger.ids()).toEqual(['1']);
    });

    it('distinguishes migrations whose joined texts are equal', async () => {
      const ledger = new Ledger(store());
      const { namespace } = ledger;
      const pairs: readonly (readonly [string, string])[] = [
        ['', '/a/b'],
        ['/a', 'b'],
        ['/a', '/b'],
        ['/a/', 'b'],
      ];
      await ledger.apply(
        pairs.map(([suffix, id], n) => ({ namespace: namespace + suffix, id, checksum: `c${n}` })),
      );
      expect((await ledger.list()).map(({ checksum }) => checksum).sort()).toEqual(['c0', 'c1', 'c2', 'c3']);
    });

    it('accepts an empty batch, and writes nothing then', async () => {
      const silent = changed(store(), { transact: () => Promise.reject(new Error('not needed')) });
      await new Ledger(silent).apply([]);
    });

    it('takes 500 at once and lists them all, over several pages as of one moment', async () => {
      const ledger = new Ledger(store());
      await ledger.apply(ledger.many(500, 'a'));
      await refused('limit_exceeded', ledger.apply(ledger.many(501, 'b')));
      const count = await ledger.count();
      // The late batch has members before and after the end of the first page.
      const late = [...ledger.many(20, 'a-late'), ...ledger.many(20, 'z-late')];
      let pages = 0;
      const snapshot: RecordStore['snapshot'] = (scope, read) =>
        store().snapshot(scope, (moment) => {
          const query = async (selection: ListSelection) => {
            const page = await moment.query(selection);
            if (++pages === 1) await ledger.apply(late);
            return page;
          };
          return read({
            query: query as Moment['query'],
            find: moment.find,
            count: moment.count,
            generation: () => moment.generation(),
          });
        });
      await ledger.apply(ledger.many(20, 'm'));
      const before = await ledger.listAll();
      const listed = await new Ledger(changed(store(), { snapshot })).listAll();
      expect(pages).toBeGreaterThan(1);
      const after = await ledger.listAll();
      expect([before, after]).toContainEqual(listed);
      expect([before.length, after.length]).toEqual([count + 20, count + 60]);
      expect(await ledger.ids()).toHaveLength(560);
    });

    it('lists a limited number in one answer, and marks the answer as truncated', async () => {
      const ledger = new Ledger(store());
      await ledger.apply(ledger.many(3));
      const all = await ledger.listAll();
      expect(await pageOf(store(), all.length)).toEqual({ body: all, headers: {} });
      const { body, headers } = await pageOf(store(), all.length - 1);
      expect(body).toEqual(all.slice(0, -1));
      expect(headers).toEqual({
        'Svc-Truncated': 'true',
        Link: expect.stringMatching(
          /^<\/canonical\/migrations\?continuationToken=[^>]+>; rel="next"$/,
        ) as string,
      });
    });

    it('gives the rest of a long ledger in further pages, each migration once', async () => {
      const ledger = new Ledger(store());
      await ledger.apply(ledger.many(7));
      const all = await ledger.listAll();
      const listedMax = Math.ceil(all.length / 3);
      const found: unknown[] = [];
      let pages = 0;
      for (let token: string | undefined; ; pages += 1) {
        const { body, headers } = await pageOf(store(), listedMax, token);
        found.push(...body);
        const reference = /^<([^>]+)>/.exec(headers['Link'] ?? '')?.[1];
        if (reference === undefined) break;
        token = new URL(reference, 'http://host').searchParams.get('continuationToken') ?? '';
      }
      expect(pages).toBe(2);
      expect(found).toEqual(all);
      await refused('continuation_token_invalid', pageOf(store(), listedMax, 'forged'));
    });

    it.each<[string, Partial<CanonicalMigrationInput>, string, string]>([
      ['a blank namespace', { namespace: ' ' }, 'validation_failed', 'namespace'],
      ['a control character in an id', { id: 'a\u0000b' }, 'validation_failed', 'id'],
      ['a lone surrogate in an id', { id: 'a\ud800b' }, 'validation_failed', 'id'],
      ['a checksum of 161 characters', { checksum: 'c'.repeat(161) }, 'limit_exceeded', 'checksum'],
      ['an id of 401 bytes', { id: `${'€'.repeat(133)}xx` }, 'limit_exceeded', 'id'],
      [
        'a control character in a description',
        { description: 'a\u0007' },
        'validation_failed',
        'description',
      ],
      ['a lone surrogate in a description', { description: '\udc00' }, 'validation_failed', 'description'],
    ])('refuses %s', async (_, change, code, member) => {
      const ledger = new Ledger(store());
      const error = await refused(
        code,
        ledger.apply([ledger.migration('1'), { ...ledger.migration('2'), ...change }]),
      );
      expect(error.extensions.errors?.[0]?.pointer).toBe(`/1/${member}`);
      expect(await ledger.ids()).toEqual([]);
    });

    it('holds one set of entries after identical batches at the same time', async () => {
      const ledger = new Ledger(store());
      const count = await ledger.count();
      const instances = Array.from({ length: Math.min(rivals, 8) }, () => new Ledger(store()));
      await Promise.all(instances.map((instance) => instance.apply(ledger.many(10))));
      expect(await ledger.list()).toHaveLength(10);
      expect(await ledger.count()).toBe(count + 10);
    });

    it('holds one whole batch of several that contradict each other at the same time', async () => {
      const ledger = new Ledger(store());
      const count = await ledger.count();
      const batches = Array.from({ length: Math.min(rivals, 8) }, (_, n) => [
        ledger.migration(`own-${n}`),
        ledger.migration('shared', `c${n}`),
      ]);
      const settled = await Promise.allSettled(batches.map((batch) => new Ledger(store()).apply(batch)));
      const won = settled.findIndex(({ status }) => status === 'fulfilled');
      expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect((await ledger.list()).map(({ id, checksum }) => [id, checksum])).toEqual([
        [`own-${won}`, `sha256:own-${won}`],
        ['shared', `c${won}`],
      ]);
      expect(await ledger.count()).toBe(count + 2);
    });

    it('changes no document of a tenant', async () => {
      const tenant = new TenantClient(store());
      await tenant.commit({ mutations: [tenant.upsert('a', { n: 1 })] });
      const { contentHash } = await tenant.export();
      const ledger = new Ledger(store());
      await ledger.apply([ledger.migration('drop table documents')]);
      expect(await tenant.export()).toMatchObject({ contentHash });
    });

    it('is kept apart from a tenant named like the ledger', async () => {
      const ledger = new Ledger(store());
      await ledger.apply([ledger.migration('1')]);
      await store().swap(tenantScope('migrations'), eachOf([]), () => undefined);
      expect(await ledger.ids()).toEqual(['1']);
    });
  });
}
