import * as fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ExecutionRun } from '../../contracts/generated/models.ts';
import { refused, START } from '../support/canonical.ts';
import type { ExecutionClient } from '../support/execution.ts';
import { HANDLER, leased, OTHER, ownRuns, PLUGIN, scopeOf, textOfBytes } from './execution-fixtures.ts';
import type { ExecutionConformance } from './execution-suite.ts';

type Query = NonNullable<Parameters<ExecutionClient['list']>[0]>;

/** A run as a list shows it, and the key that no list shows. */
interface Kept {
  readonly run: ExecutionRun;
  readonly key: string | null;
}

const STATUSES = [
  'queued',
  'waiting',
  'running',
  'succeeded',
  'failed',
  'cancelled',
  'rejected',
  'timed_out',
] as const;

/** The list by its definition: every run held against every filter. */
function expectedOf(kept: readonly Kept[], query: Query): string[] {
  const at = (text: string) => Date.parse(text);
  const tags = Object.entries(query).filter(([name]) => name.startsWith('tag.'));
  return kept
    .filter(
      ({ run, key }) =>
        (query.handlerId === undefined || run.handlerId === query.handlerId) &&
        (query.pluginId === undefined || run.pluginId === query.pluginId) &&
        (query.status === undefined || run.status === query.status) &&
        (query.correlationId === undefined || run.correlationId === query.correlationId) &&
        (query.idempotencyKey === undefined || key === query.idempotencyKey) &&
        (query.createdAfterUtc === undefined || at(run.createdAtUtc) >= at(query.createdAfterUtc)) &&
        (query.createdBeforeUtc === undefined || at(run.createdAtUtc) <= at(query.createdBeforeUtc)) &&
        (query.updatedAfterUtc === undefined || at(run.updatedAtUtc) >= at(query.updatedAfterUtc)) &&
        (query.updatedBeforeUtc === undefined || at(run.updatedAtUtc) <= at(query.updatedBeforeUtc)) &&
        tags.every(([name, value]) => run.tags[name.slice(4)] === value),
    )
    .map(({ run }) => run.id)
    .sort()
    .toReversed()
    .slice(0, query.limit ?? 50);
}

const idsOf = (runs: readonly ExecutionRun[]) => runs.map(({ id }) => id);

/** Runs that differ in all members that lists use, with every kind of end. */
async function manyRuns({ client, clock, pass }: ReturnType<typeof ownRuns>): Promise<Kept[]> {
  const keys: (string | null)[] = [];
  const ids: string[] = [];
  for (let n = 0; n < 40; n += 1) {
    clock.now += [0, 0, 1, 1_000][n % 4] ?? 0;
    const key = n % 3 === 0 ? `key-${n % 6}` : null;
    // A run may be named after another: a filter by the first finds both.
    const correlationId = [null, 'chain', ids[4] ?? 'chain', null, null][n % 5] ?? null;
    const body = {
      handlerId: n % 4 === 3 ? OTHER : HANDLER,
      correlationId,
      idempotencyKey: key,
      scope: scopeOf('p', `t${n}`),
      tags: { color: ['red', 'blue', 'π/%'][n % 3] ?? '', ...(n % 2 === 0 ? { even: 'yes' } : {}) },
    };
    const id = (await client.start(body)).id;
    ids.push(id);
    keys.push(key);
    if (n % 8 === 0) await client.cancel(id);
    if (n % 8 === 1) await client.wait({ ...(await leased(client, id)), kind: 'external_event', name: 'e' });
    if (n % 8 === 2 || n % 8 === 5) {
      const status = STATUSES[3 + ((n * 3) % 5)] as 'succeeded';
      await client.complete({ ...(await leased(client, id)), result: { status, result: { n } } });
    }
    if (n % 8 === 3) await leased(client, id);
  }
  for (const handlerId of ['unregistered', 'unregistered']) {
    const problem = await refused('handler_missing', client.start({ handlerId }));
    ids.push((problem.extensions.admission as { resourceId: string }).resourceId);
    keys.push(null);
  }
  await pass(5);
  const runs = await Promise.all(ids.map((id) => client.get(id)));
  return runs.map((run, n) => ({ run, key: keys[n] ?? null }));
}

export function describeLists({ store, rivals }: ExecutionConformance): void {
  describe('the list of runs', () => {
    let world: ReturnType<typeof ownRuns>;
    let kept: readonly Kept[];
    beforeAll(async () => {
      world = ownRuns(store());
      kept = await manyRuns(world);
    });
    const expectList = async (query: Query) => {
      const ids = idsOf(await world.client.list(query));
      expect(ids, JSON.stringify(query)).toEqual(expectedOf(kept, query));
      return ids;
    };

    it('is of every status and kind that it is asked for below', () => {
      const statuses = new Set(kept.map(({ run }) => run.status));
      expect(statuses.size).toBe(STATUSES.length);
    });

    it('is empty where there are none', async () => {
      expect(await ownRuns(store()).client.list()).toEqual([]);
    });

    it('has the newest first, whole but for results', async () => {
      expect(idsOf(await world.client.list())).toEqual(expectedOf(kept, {}));
      for (const run of await world.client.list()) {
        const { run: whole } = kept.find((each) => each.run.id === run.id) ?? {};
        expect(run).toEqual({ ...whole, result: null });
      }
    });

    it('has results where they are asked for', async () => {
      const runs = await world.client.list({ status: 'succeeded', includeResult: true });
      expect(runs.length).toBeGreaterThan(0);
      for (const run of runs) expect(run.result).toMatchObject({ n: expect.any(Number) });
      const hidden = await world.client.get(runs[0]?.id ?? '', { includeResult: false });
      expect(hidden).toEqual({ ...runs[0], result: null });
    });

    it('is found by each filter alone', async () => {
      const { client } = world;
      const own = kept[4]?.run.id ?? '';
      const moment = new Date(START + 5_003).toISOString();
      const filters: Query[] = [
        { correlationId: own, limit: 1 },
        ...STATUSES.map((status) => ({ status })),
        ...[HANDLER, OTHER, 'unregistered'].map((handlerId) => ({ handlerId })),
        { pluginId: PLUGIN },
        { correlationId: 'chain' },
        { correlationId: own },
        { idempotencyKey: 'key-0' },
        { 'tag.color': 'red' },
        { 'tag.color': 'π/%' },
        { 'tag.even': 'yes' },
        { createdAfterUtc: moment },
        { createdBeforeUtc: moment },
        { updatedAfterUtc: moment },
        { updatedBeforeUtc: moment },
      ];
      for (const filter of filters) expect((await expectList(filter)).length).toBeGreaterThan(0);
      for (const filter of [
        { handlerId: 'Test.work' },
        { pluginId: 'x' },
        { correlationId: 'CHAIN' },
        { correlationId: '00000000000000000001' },
        { idempotencyKey: 'key-1' },
        { 'tag.color': 'Red' },
        { 'tag.none': 'yes' },
        { 'tag.toString': 'yes' },
        { correlationId: own, idempotencyKey: 'none' },
      ] satisfies Query[])
        expect(await client.list(filter)).toEqual([]);
    });

    it('takes the moments of its bounds in', async () => {
      for (const { run } of [kept[7], kept[20]].flatMap((each) => each ?? [])) {
        const created = { createdAfterUtc: run.createdAtUtc, createdBeforeUtc: run.createdAtUtc };
        expect(await expectList(created)).toContain(run.id);
        const updated = { updatedAfterUtc: run.updatedAtUtc, updatedBeforeUtc: run.updatedAtUtc };
        expect(await expectList(updated)).toContain(run.id);
      }
    });

    it('applies any combination of filters together', async () => {
      const at = fc.integer({ min: -1, max: 12_000 }).map((ms) => new Date(START + ms).toISOString());
      const arbitrary = fc.record(
        {
          handlerId: fc.constantFrom(HANDLER, HANDLER, OTHER, 'unregistered'),
          pluginId: fc.constant(PLUGIN),
          status: fc.constantFrom(...STATUSES),
          correlationId: fc.constantFrom('chain', ...kept.slice(4, 6).map(({ run }) => run.id)),
          idempotencyKey: fc.constantFrom('key-0', 'key-3', 'none'),
          createdAfterUtc: at,
          createdBeforeUtc: at,
          updatedAfterUtc: at,
          updatedBeforeUtc: at,
          'tag.color': fc.constantFrom('red', 'blue'),
          'tag.even': fc.constant('yes'),
          limit: fc.integer({ min: 1, max: 12 }),
        },
        { requiredKeys: [] },
      );
      await fc.assert(
        fc.asyncProperty(arbitrary, async (query) => {
          await expectList(query);
        }),
        { numRuns: Math.min(150, 3 * rivals) },
      );
    });

    it('is limited: by default, by the request, and by the maximum', async () => {
      const options = { listLimitDefault: 2, listLimitMax: 3 };
      const { client } = ownRuns(store(), { scope: world.scope, options });
      const ids = expectedOf(kept, {});
      expect(idsOf(await client.list())).toEqual(ids.slice(0, 2));
      expect(idsOf(await client.list({ limit: 3 }))).toEqual(ids.slice(0, 3));
      await refused('limit_exceeded', client.list({ limit: 4 }));
    });

    it('names its next page, which holds for its own query alone', async () => {
      const { client } = world;
      for (const query of [{}, { handlerId: HANDLER }, { createdAfterUtc: new Date(START).toISOString() }]) {
        const ids: string[] = [];
        let continuationToken: string | null = null;
        do {
          const token: Query = continuationToken === null ? {} : { continuationToken };
          const page = await client.listPage({ ...query, limit: 7, ...token });
          expect(page.headers['Svc-Truncated']).toBeUndefined();
          ids.push(...idsOf(page.runs));
          continuationToken = page.next;
        } while (continuationToken !== null);
        expect(ids).toEqual(expectedOf(kept, { ...query, limit: 1_000 }));
      }
      const page = await client.listPage({ handlerId: HANDLER, 'tag.color': 'π/%', limit: 2 });
      const asked = new URL(page.address ?? '', 'http://svc').searchParams;
      expect(Object.fromEntries(asked)).toEqual({
        handlerId: HANDLER,
        'tag.color': 'π/%',
        limit: '2',
        continuationToken: page.next,
      });
      const continuationToken = page.next ?? '';
      await refused('continuation_token_invalid', client.list({ continuationToken }));
      const changed = `${continuationToken.slice(0, -2)}xx`;
      await refused(
        'continuation_token_invalid',
        client.list({ handlerId: HANDLER, 'tag.color': 'π/%', continuationToken: changed }),
      );
    });

    it('has no next page where it ends with its limit', async () => {
      const limit = expectedOf(kept, { handlerId: OTHER }).length;
      expect((await world.client.listPage({ handlerId: OTHER, limit })).headers).toEqual({});
    });

    it('is read to its end by the moments of its runs', async () => {
      const seen = new Set<string>();
      let before: string | undefined;
      for (;;) {
        const query = before === undefined ? {} : { createdBeforeUtc: before };
        const runs = await world.client.list({ ...query, limit: 7 });
        for (const { id } of runs) seen.add(id);
        const last = runs.at(-1)?.createdAtUtc;
        if (last === undefined || last === before) break;
        before = last;
      }
      expect([...seen].sort()).toEqual(kept.map(({ run }) => run.id).sort());
    });
  });

  describe('the list of runs that are large', () => {
    it('ends when its answer is full, and continues from there', async () => {
      const { client, clock } = ownRuns(store());
      const payload = textOfBytes(262_144);
      const ids: string[] = [];
      for (let n = 0; n < 34; n += 1) {
        clock.now += 1;
        ids.unshift((await client.start({ handlerId: HANDLER, payload })).id);
      }
      const { runs: first, next, headers } = await client.listPage({ limit: 50 });
      expect(headers['Svc-Truncated']).toBe('true');
      const { runs: rest, headers: last } = await client.listPage({
        limit: 50,
        continuationToken: next ?? '',
      });
      expect([idsOf(rest), last]).toEqual([ids.slice(31), {}]);
      expect(JSON.stringify(first).length).toBeLessThanOrEqual(8 * 1024 * 1024);
      expect(idsOf(first)).toEqual(ids.slice(0, 31));
      const createdBeforeUtc = first.at(-1)?.createdAtUtc ?? '';
      expect(idsOf(await client.list({ createdBeforeUtc }))).toEqual(ids.slice(30));
      const work = await leased(client, ids[0] ?? '');
      await client.complete({ ...work, result: { result: payload } });
      expect(await client.list({ limit: 50 })).toHaveLength(31);
      expect(await client.list({ limit: 50, includeResult: true })).toHaveLength(30);
    });
  });

  describe('the list of runs that many start at once', () => {
    it('is in the order of its moments, also where a request was long on its way', async () => {
      const { client, clock, instance } = ownRuns(store());
      const first = await client.start({ handlerId: HANDLER });
      clock.now += 1_000;
      const caller = { kind: 'development', principal: null } as const;
      const { signal } = new AbortController();
      const context = { caller, correlationId: 'c', now: clock.now - 5_000, signal };
      const input = { params: {}, query: {}, body: { handlerId: HANDLER } };
      const late = (await instance.operations.startExecutionRun(input, context)).body;
      expect(late.createdAtUtc > first.createdAtUtc).toBe(true);
      expect(idsOf(await client.list({ createdAfterUtc: late.createdAtUtc }))).toEqual([late.id]);
    });

    it('is in the order of the times that it shows', async () => {
      const { client, clock, scope } = ownRuns(store());
      const other = ownRuns(store(), { scope, node: 2 });
      const calls = Array.from({ length: Math.min(rivals, 40) }, (_, n) => {
        clock.now += n % 2;
        other.clock.now = clock.now;
        return (n % 3 === 0 ? other.client : client).start({ handlerId: HANDLER });
      });
      await Promise.all(calls);
      const runs = await client.list({ limit: 200 });
      const moments = runs.map(({ createdAtUtc }) => createdAtUtc);
      expect(moments).toEqual([...moments].sort().toReversed());
      const after = moments[10] ?? '';
      const newer = await client.list({ createdAfterUtc: after, limit: 200 });
      expect(idsOf(newer)).toEqual(idsOf(runs.filter(({ createdAtUtc }) => createdAtUtc >= after)));
    });
  });
}
