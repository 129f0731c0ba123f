import { describe, expect, it } from 'vitest';
import type { ServiceError } from '../../functions/kernel/errors.ts';
import { admissionOfRun } from '../../functions/runs/records.ts';
import { refused, START } from '../support/canonical.ts';
import { ExecutionClient } from '../support/execution.ts';
import {
  HANDLER,
  OTHER,
  ownRuns,
  PLUGIN,
  type StartBody,
  scopeOf,
  someKey,
  storedRun,
} from './execution-fixtures.ts';
import type { ExecutionConformance } from './execution-suite.ts';

export function describeRuns({ store }: ExecutionConformance): void {
  const ID = /^[0-9]{20}$/;

  describe('a start', () => {
    it('answers the stored run', async () => {
      const { client } = ownRuns(store());
      const body: StartBody = {
        handlerId: ` ${HANDLER} `,
        payload: { b: [1, null], a: 'π' },
        correlationId: 'corr',
        idempotencyKey: someKey(),
        scope: scopeOf('p'),
        tags: { color: 'red' },
        retryPolicy: { maxAttempts: 2, initialDelaySeconds: 0.5 },
      };
      const run = await client.start(body);
      expect(run).toMatchObject({
        handlerId: HANDLER,
        pluginId: PLUGIN,
        status: 'queued',
        attempt: 0,
        maxAttempts: 2,
        correlationId: 'corr',
        payload: body.payload,
        scope: { productId: 'p', tenantId: 't', serviceIdentity: null },
        createdAtUtc: new Date(START).toISOString(),
        startedAtUtc: null,
        completedAtUtc: null,
        scheduledAtUtc: null,
        cancellationRequested: false,
        result: null,
        tags: { color: 'red' },
        admission: { status: 'accepted', replayed: false },
      });
      expect(run.id).toMatch(ID);
      expect(run.admission.resourceId).toBe(run.id);
      expect(run.admission.requestHash).toBe(run.payloadHash);
      expect(JSON.stringify(run)).not.toContain(body.idempotencyKey);
      expect(await client.get(run.id)).toEqual(run);
      expect(await client.list()).toEqual([run]);
    });

    it('hashes the payload without regard to the order of its members', async () => {
      const { client } = ownRuns(store());
      const hashes = [];
      for (const payload of [{ a: 1, b: 2 }, { b: 2, a: 1 }, null, undefined, {}]) {
        const body = payload === undefined ? {} : { payload };
        hashes.push((await client.start({ handlerId: HANDLER, ...body })).payloadHash);
      }
      const [first, second, none, absent, empty] = hashes;
      expect(second).toBe(first);
      expect(none).toBe('sha256:74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b');
      expect(absent).toBe(none);
      expect(empty).toBe('sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a');
    });

    it('keeps a large payload whole, beside the run', async () => {
      const { client } = ownRuns(store());
      const payload = { text: 'y'.repeat(200_000) };
      const run = await client.start({ handlerId: HANDLER, payload });
      expect(run.payload).toEqual(payload);
      expect((await client.get(run.id)).payload).toEqual(payload);
      expect((await client.list())[0]?.payload).toEqual(payload);
    });

    it('gives ids in their order, also of several instances', async () => {
      const { client, scope } = ownRuns(store());
      const other = new ExecutionClient(ownRuns(store(), { scope, node: 2 }).instance);
      const ids = [];
      for (const by of [client, client, other]) ids.push((await by.start({ handlerId: HANDLER })).id);
      expect(new Set(ids).size).toBe(3);
      expect((ids[0] ?? '') < (ids[1] ?? '')).toBe(true);
    });

    it.each<[string, StartBody, string]>([
      ['an unregistered handler', { handlerId: 'unregistered' }, 'handler_missing'],
      ['another plugin', { handlerId: HANDLER, pluginId: 'another' }, 'plugin_mismatch'],
      ['a plugin of a handler that has none', { handlerId: OTHER, pluginId: PLUGIN }, 'plugin_mismatch'],
    ])('of %s leaves a rejected run that can be read', async (_, body, code) => {
      const { client } = ownRuns(store());
      const idempotencyKey = someKey();
      const problem = await refused(code, client.start({ ...body, idempotencyKey }));
      const admission = admissionIn(problem);
      expect(admission).toMatchObject({ status: 'rejected', failureClass: code, replayed: false });
      const run = await client.get(admission.resourceId);
      expect(run).toMatchObject({
        status: 'rejected',
        failureClass: code,
        attempt: 0,
        durationMs: 0,
        completedAtUtc: new Date(START).toISOString(),
      });
      expect(run.admission).toEqual(admission);
      // It took no key, and no worker may execute it.
      const again = admissionIn(await refused(code, client.start({ ...body, idempotencyKey })));
      expect(again).toMatchObject({ status: 'rejected', failureClass: code, replayed: false });
      expect(again.resourceId).not.toBe(run.id);
      const handlerIds = [HANDLER, OTHER, 'unregistered'];
      expect(await client.lease({ workerId: 'w', handlerIds })).toBeNull();
      expect(await client.lease({ workerId: 'w', handlerIds, runId: run.id })).toBeNull();
      expect((await client.cancel(run.id)).status).toBe('rejected');
      expect((await client.history(run.id)).map(({ type }) => type)).toEqual(['run.rejected']);
    });
  });

  describe('the schedule', () => {
    it('makes a run wait until its moment, and not a millisecond longer', async () => {
      const { client, pass } = ownRuns(store());
      const at = new Date(START + 60_000).toISOString();
      const run = await client.start({ handlerId: HANDLER, scheduledAtUtc: at });
      expect(run).toMatchObject({ status: 'waiting', scheduledAtUtc: at });
      const wish = { workerId: 'w', handlerIds: [HANDLER] };
      await pass(59_999);
      expect(await client.lease(wish)).toBeNull();
      expect(await client.lease({ ...wish, runId: run.id })).toBeNull();
      await pass(1);
      expect((await client.lease(wish))?.run).toMatchObject({ id: run.id, status: 'running', attempt: 1 });
    });

    it.each([0, -1, -86_400_000])('in the past means now (%i ms)', async (ms) => {
      const { client } = ownRuns(store());
      const at = new Date(START + ms).toISOString();
      const run = await client.start({ handlerId: HANDLER, scheduledAtUtc: at });
      expect(run).toMatchObject({ status: 'queued', scheduledAtUtc: at });
    });
  });

  describe('an idempotency key', () => {
    const body = { handlerId: HANDLER, payload: { a: 1, b: [2] }, scope: scopeOf('p') } as const;

    it('answers the run of then, also on another instance and after its end', async () => {
      const { client, scope, clock } = ownRuns(store());
      const idempotencyKey = someKey();
      const first = await client.start({ ...body, idempotencyKey });
      const other = new ExecutionClient(ownRuns(store(), { scope, node: 2 }).instance);
      clock.now += 1_000;
      for (const by of [client, other]) {
        const again = await by.start({ ...body, idempotencyKey: ` ${idempotencyKey} ` });
        expect(again).toEqual({ ...first, admission: { ...first.admission, replayed: true } });
      }
      const ended = await client.cancel(first.id);
      const last = await other.start({ ...body, idempotencyKey });
      expect(last).toEqual({ ...ended, admission: { ...ended.admission, replayed: true } });
      expect((await client.get(first.id)).admission.replayed).toBe(false);
      expect(await client.list()).toHaveLength(1);
    });

    it.each<[string, Partial<StartBody>]>([
      ['another order of members', { payload: { b: [2], a: 1 } }],
      ['the plugin spelt out', { pluginId: PLUGIN }],
      ['another correlation id', { correlationId: 'c' }],
      ['other tags', { tags: { a: 'b' } }],
      ['a schedule', { scheduledAtUtc: '2031-01-01T00:00:00Z' }],
      ['a retry policy', { retryPolicy: { maxAttempts: 9 } }],
    ])('is for the same request with %s', async (_, change) => {
      const { client } = ownRuns(store());
      const idempotencyKey = someKey();
      const first = await client.start({ ...body, idempotencyKey });
      const again = await client.start({ ...body, ...change, idempotencyKey });
      expect(again).toEqual({ ...first, admission: { ...first.admission, replayed: true } });
    });

    it.each<[string, Partial<StartBody>]>([
      ['another payload', { payload: { a: 1, b: [3] } }],
      ['no payload', { payload: null }],
      ['another handler', { handlerId: OTHER }],
      ['another plugin', { pluginId: 'another' }],
      ['an unregistered handler', { handlerId: 'unregistered' }],
    ])('conflicts with %s, and nothing changes', async (_, change) => {
      const { client } = ownRuns(store());
      const idempotencyKey = someKey();
      const first = await client.start({ ...body, idempotencyKey });
      await refused('idempotency_conflict', client.start({ ...body, ...change, idempotencyKey }));
      expect(await client.list()).toEqual([first]);
      expect((await client.start({ ...body, idempotencyKey })).id).toBe(first.id);
    });

    it.each<[string, StartBody, boolean]>([
      ['registered', { handlerId: 'late' }, false],
      ['registered, with its plugin', { handlerId: 'late', pluginId: PLUGIN }, false],
      ['unregistered', { handlerId: HANDLER }, true],
      ['unregistered, with its plugin', { handlerId: HANDLER, pluginId: PLUGIN }, true],
    ])('finds its run also once the handler is %s', async (_, request, known) => {
      const { client, scope } = ownRuns(store());
      const external = [{ handlerId: 'late', pluginId: PLUGIN }];
      const other = ownRuns(store(), { scope, node: 2, external }).client;
      const start = (by: ExecutionClient, change: Partial<StartBody> = {}) =>
        by.start({ ...request, idempotencyKey: 'k', ...change });
      if (!known) await refused('handler_missing', start(client));
      const run = await start(known ? client : other);
      expect(run.admission.replayed).toBe(false);
      for (const by of [other, client]) {
        const again = await start(by);
        expect(again).toEqual({ ...run, admission: { ...run.admission, replayed: true } });
        for (const change of [{ pluginId: 'another' }, { payload: 1 }, { handlerId: OTHER }]) {
          await refused('idempotency_conflict', start(by, change));
        }
      }
      expect(await client.list()).toHaveLength(known ? 1 : 2);
    });

    it('has its record found from the run', async () => {
      const { client, scope } = ownRuns(store());
      for (const where of [scopeOf('p'), null]) {
        const { id } = await client.start({ handlerId: HANDLER, scope: where, idempotencyKey: someKey() });
        const key = admissionOfRun(await storedRun(client, id));
        if (key === null) throw new Error('the run has a key');
        const { records } = await store().query(scope, { by: 'keys', keys: [{ key }] });
        expect(records.map(({ head }) => head.runId)).toEqual([id]);
      }
      const { id } = await client.start({ handlerId: HANDLER });
      expect(admissionOfRun(await storedRun(client, id))).toBeNull();
    });

    it('is free in every other product, tenant and outside of them', async () => {
      const { client } = ownRuns(store());
      const idempotencyKey = someKey();
      const scopes = [
        scopeOf('p'),
        scopeOf('q'),
        scopeOf('p', 'u'),
        scopeOf('p/t', 'x'),
        scopeOf('p', 't/x'),
        null,
      ];
      const runs = [];
      for (const scope of scopes) {
        runs.push(await client.start({ handlerId: HANDLER, scope, idempotencyKey }));
      }
      expect(new Set(runs.map(({ id }) => id)).size).toBe(scopes.length);
      expect(runs.every(({ admission }) => !admission.replayed)).toBe(true);
    });

    it.each(['', '   ', null])('that is blank is none (%j)', async (idempotencyKey) => {
      const { client } = ownRuns(store());
      for (let n = 0; n < 2; n += 1) await client.start({ handlerId: HANDLER, idempotencyKey });
      expect(await client.list()).toHaveLength(2);
    });

    it('makes one run of sixteen starts at once', async () => {
      const { client, scope } = ownRuns(store());
      const other = new ExecutionClient(ownRuns(store(), { scope, node: 2 }).instance);
      const idempotencyKey = someKey();
      const calls = Array.from({ length: 16 }, (_, n) =>
        (n % 2 === 0 ? client : other).start({ ...body, idempotencyKey }),
      );
      const runs = await Promise.all(calls);
      expect(new Set(runs.map(({ id }) => id)).size).toBe(1);
      expect(runs.filter(({ admission }) => !admission.replayed)).toHaveLength(1);
      expect(await client.list()).toHaveLength(1);
      const lease = { workerId: 'w', handlerIds: [HANDLER] };
      expect(await client.lease(lease)).not.toBeNull();
      expect(await client.lease(lease)).toBeNull();
    });
  });
}

export interface Receipt {
  readonly resourceId: string;
  readonly idempotencyKeyHash: string | null;
}

export function admissionIn(problem: ServiceError): Receipt {
  return problem.extensions.admission as Receipt;
}
