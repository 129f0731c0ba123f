import { describe, expect, it } from 'vitest';
import { createExecutionAccess, type ExecutionGrant } from '../../functions/identity/execution-access.ts';
import { accountForRuns } from '../../functions/runs/maintenance/account.ts';
import type { ProductPolicy } from '../../functions/runs/product-policy.ts';
import { RUN_GROUP, RUN_INDEX, RUNS, readRun, runShareKey } from '../../functions/runs/records.ts';
import { listPages, recordsOf } from '../../functions/store/pages.ts';
import { type RecordStore, StoreError } from '../../functions/store/port.ts';
import { refused } from '../support/canonical.ts';
import { ExecutionClient, type InstanceOptions } from '../support/execution.ts';
import { HANDLER, OTHER, openProduct, ownRuns, scopeOf } from './execution-fixtures.ts';
import type { ExecutionConformance } from './execution-suite.ts';

const CALLER = { kind: 'workload', principal: 'reader@example.test' } as const;

function grant(changes: Partial<ExecutionGrant>): ExecutionGrant {
  return {
    principal: CALLER.principal,
    productId: 'p',
    workerId: null,
    tenantIds: [],
    handlerIds: [],
    operations: ['read_run', 'start_run'],
    ...changes,
  };
}

/** The store, with the number of records that its queries have answered. */
function counting(store: RecordStore) {
  const read = { records: 0 };
  const counted = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return async (...given: unknown[]) => {
        const answer: unknown = await Reflect.apply(value, target, given);
        if (name === 'query') read.records += (answer as { records: unknown[] }).records.length;
        return answer;
      };
    },
  });
  return { counted, read };
}

/** Runs of several owners, and a client with the given grants. */
async function shared(store: RecordStore, grants: readonly ExecutionGrant[], options: InstanceOptions = {}) {
  const owner = ownRuns(store);
  const { counted, read } = counting(store);
  const access = createExecutionAccess(grants);
  const given = { scope: owner.scope, node: 2, access, ...options };
  const { instance, clock } = ownRuns(counted, given);
  clock.now = owner.clock.now;
  const start = async (body: Parameters<typeof owner.client.start>[0]) => {
    owner.clock.now += 1;
    return (await owner.client.start(body)).id;
  };
  return { owner, start, read, reader: new ExecutionClient(instance, CALLER) };
}

export function describeVisible({ store }: ExecutionConformance): void {
  describe('the runs that a caller may see', () => {
    const idsOf = async (client: ExecutionClient, query = {}) => {
      const ids: string[] = [];
      let token: string | null = null;
      do {
        const page = await client.listPage({
          ...query,
          ...(token === null ? {} : { continuationToken: token }),
        });
        ids.push(...page.runs.map(({ id }) => id));
        token = page.next;
      } while (token !== null);
      return ids;
    };

    it('cost the same, however many others there are', async () => {
      const { start, reader, read } = await shared(store(), [grant({ tenantIds: ['mine'] })]);
      for (let n = 0; n < 60; n += 1) await start({ handlerId: HANDLER, scope: scopeOf('p', 'theirs') });
      await reader.list();
      read.records = 0;
      expect(await reader.list()).toEqual([]);
      expect(await reader.list({ handlerId: HANDLER, status: 'queued' })).toEqual([]);
      expect(await reader.list({ updatedAfterUtc: '2020-01-01T00:00:00Z' })).toEqual([]);
      expect(read.records).toBe(0);
      const id = await start({ handlerId: HANDLER, scope: scopeOf('p', 'mine') });
      expect((await reader.list()).map((run) => run.id)).toEqual([id]);
      expect(read.records).toBe(1);
    });

    it('are those of all grants together, each once, newest first, page by page', async () => {
      const grants = [
        grant({ tenantIds: ['a', 'b'], handlerIds: [HANDLER] }),
        grant({ tenantIds: ['b'] }),
        grant({ productId: 'q', handlerIds: [OTHER] }),
        grant({ productId: 'r', operations: ['start_run'] }),
      ];
      const { start, reader } = await shared(store(), grants);
      const seen: string[] = [];
      for (const [productId, tenantId, handlerId, visible] of [
        ['p', 'a', HANDLER, true],
        ['p', 'a', OTHER, false],
        ['p', 'b', OTHER, true],
        ['p', 'b', HANDLER, true],
        ['p', 'c', HANDLER, false],
        ['q', 'a', OTHER, true],
        ['q', 'c', HANDLER, false],
        ['r', 'a', HANDLER, false],
        ['p', 'a', HANDLER, true],
      ] as const) {
        const id = await start({ handlerId, scope: scopeOf(productId, tenantId) });
        if (visible) seen.unshift(id);
      }
      await start({ handlerId: HANDLER });
      expect(await idsOf(reader)).toEqual(seen);
      expect(await idsOf(reader, { limit: 2 })).toEqual(seen);
      expect(await idsOf(reader, { handlerId: OTHER, limit: 1 })).toEqual([seen[1], seen[3]]);
    });

    it('are found when an earlier release stored them without their scope in the index', async () => {
      const { owner, start, reader, read } = await shared(store(), [grant({ tenantIds: ['mine'] })]);
      const own = await start({ handlerId: HANDLER, scope: scopeOf('p', 'mine') });
      await start({ handlerId: HANDLER, scope: scopeOf('p', 'theirs') });
      const { scope } = owner;
      for await (const record of recordsOf(
        listPages(store(), scope, { collection: RUNS, group: RUN_GROUP, limit: 10 }),
      )) {
        const { listing, key } = record;
        if (listing === undefined || listing === null) continue;
        const { [RUN_INDEX.scope]: _, [RUN_INDEX.product]: __, ...indexes } = listing.indexes;
        await store().transact(scope, { keys: [{ key, view: 'body' }] }, () => ({
          writes: [{ put: { ...record, listing: { ...listing, indexes } } }],
          result: null,
        }));
      }
      expect(await idsOf(reader)).toEqual([own]);
      read.records = 0;
      expect(await idsOf(reader)).toEqual([own]);
      expect(read.records).toBe(1);
    });

    it('are counted where an earlier release counted them in all only, once, until they end', async () => {
      const given = { options: { activeRunsMax: 100, runShareMax: 3 } };
      const { owner, start, reader } = await shared(store(), [grant({ tenantIds: ['mine'] })], given);
      const mine = scopeOf('p', 'mine');
      const ids = [];
      for (let n = 0; n < 4; n += 1) ids.push(await start({ handlerId: HANDLER, scope: mine }));
      const { scope } = owner;
      for await (const record of recordsOf(
        listPages(store(), scope, { collection: RUNS, group: RUN_GROUP, limit: 10 }),
      )) {
        const { sharesCounted: _, ...run } = readRun(record);
        const counter = runShareKey(mine, 0);
        await store().transact(
          scope,
          { keys: [{ key: record.key, view: 'body' }, { key: counter }] },
          () => ({
            writes: [{ put: { ...record, body: JSON.stringify(run) } }, { remove: counter }],
            result: null,
          }),
        );
      }
      const active = async () => (await reader.effectiveRuntime()).status.activeRuns;
      expect([await active(), await active()]).toEqual([4, 4]);
      await refused('queue_full', reader.start({ handlerId: HANDLER, scope: mine }));
      for (const id of ids) await owner.client.cancel(id);
      expect(await active()).toBe(0);
      expect((await accountForRuns(owner.instance.runtime)).faults).toEqual([]);
    });
  });

  describe('the effective runtime', () => {
    const open: readonly ProductPolicy[] = [
      { ...openProduct, productId: 'p', allowedHandlerIds: [HANDLER], allowedTenantIds: ['mine'] },
    ];
    const idsOf = (handlers: readonly { readonly handlerId: string }[]) =>
      handlers.map(({ handlerId }) => handlerId);

    it('counts the active runs that the caller may see, and no others', async () => {
      const tenants = await shared(store(), [
        grant({ tenantIds: ['mine'] }),
        grant({ tenantIds: ['mine', 'b'] }),
      ]);
      const handlers = await shared(store(), [grant({ handlerIds: [HANDLER] })]);
      for (const { start } of [tenants, handlers]) {
        await start({ handlerId: HANDLER, scope: scopeOf('p', 'mine') });
        await start({ handlerId: OTHER, scope: scopeOf('p', 'mine') });
        for (let n = 0; n < 3; n += 1) await start({ handlerId: HANDLER, scope: scopeOf('p', 'theirs') });
        await start({ handlerId: HANDLER, scope: scopeOf('q', 'mine') });
      }
      const count = async ({ reader }: typeof tenants) => (await reader.effectiveRuntime()).status.activeRuns;
      expect(await count(tenants)).toBe(2);
      expect(await count(handlers)).toBe(4);
      const unseen = await shared(store(), [grant({ operations: ['start_run'] })]);
      await unseen.start({ handlerId: HANDLER, scope: scopeOf('p', 'mine') });
      expect(await count(unseen)).toBe(0);
    });

    it('asks for a scope where product policies exist, and shows the handlers that they allow', async () => {
      const { client } = ownRuns(store(), { policies: open });
      const none = await client.effectiveRuntime();
      expect([none.scope.scopeRequired, none.handlers]).toEqual([true, []]);
      const own = await client.effectiveRuntime({ productId: 'p', tenantId: 'mine' });
      expect([own.scope.scopeRequired, idsOf(own.handlers)]).toEqual([false, [HANDLER]]);
      for (const tenantId of ['theirs', 'MINE'])
        await refused('permission_denied', client.effectiveRuntime({ productId: 'p', tenantId }));
      await refused('permission_denied', client.effectiveRuntime({ productId: 'q', tenantId: 'mine' }));
      const { client: free } = ownRuns(store());
      const all = await free.effectiveRuntime();
      expect([all.scope.scopeRequired, idsOf(all.handlers)]).toEqual([false, [OTHER, HANDLER]]);
    });

    it('shows the runs that both grants and product policies allow', async () => {
      const { reader } = await shared(store(), [grant({ handlerIds: [HANDLER, OTHER] })], { policies: open });
      const { handlers } = await reader.effectiveRuntime({ productId: 'p', tenantId: 'mine' });
      expect(idsOf(handlers)).toEqual([HANDLER]);
    });

    it('fails when its store fails', async () => {
      for (const [failure, status] of [
        ['full', 'storage_full'],
        ['unavailable', 'unavailable'],
      ] as const) {
        const broken = new Proxy(store(), {
          get(target, name) {
            const value: unknown = Reflect.get(target, name);
            if (name === 'ping') return () => Promise.reject(new StoreError(failure, 'planted'));
            return typeof value === 'function' ? value.bind(target) : value;
          },
        });
        const { client } = ownRuns(broken);
        expect((await client.runtime()).status).toMatchObject({ available: false, status });
      }
      expect((await ownRuns(store()).client.runtime()).status).toMatchObject({
        available: true,
        status: 'ok',
      });
    });
  });
}
