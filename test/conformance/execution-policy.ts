import { describe, expect, it } from 'vitest';
import { createExecutionAccess, type ExecutionGrant } from '../../functions/identity/execution-access.ts';
import { refused } from '../support/canonical.ts';
import { ExecutionClient } from '../support/execution.ts';
import {
  HANDLER,
  leased,
  OTHER,
  openProduct,
  ownRuns,
  type StartBody,
  scopeOf,
  textOfBytes,
} from './execution-fixtures.ts';
import type { ExecutionConformance } from './execution-suite.ts';

const policies = [
  { ...openProduct, productId: 'open' },
  {
    ...openProduct,
    productId: 'narrow',
    allowedHandlerIds: [HANDLER],
    allowedTenantIds: ['t'],
    allowedServiceIdentities: ['its-worker'],
    payloadBytesMax: 100,
  },
];

const operations: ExecutionGrant['operations'] = ['start_run', 'read_run', 'cancel_run', 'raise_event'];
const grant = (principal: string, more: Partial<ExecutionGrant> = {}): ExecutionGrant => ({
  principal,
  productId: 'open',
  workerId: null,
  tenantIds: [],
  handlerIds: [],
  operations,
  ...more,
});

const access = createExecutionAccess([
  grant('everything@x'),
  grant('one-tenant@x', { tenantIds: ['t'] }),
  grant('one-handler@x', { handlerIds: [OTHER] }),
  grant('reader@x', { operations: ['read_run'] }),
  grant('canceller@x', { operations: ['cancel_run'] }),
  grant('raiser@x', { operations: ['raise_event'] }),
  grant('starter@x', { operations: ['start_run'] }),
  grant('elsewhere@x', { productId: 'narrow' }),
  grant('its-worker@x', { operations: ['worker'], workerId: 'its-worker', tenantIds: ['t'] }),
]);

export function describePolicies({ store, alone }: ExecutionConformance): void {
  describe('product policies', () => {
    it.each<[string, StartBody, string]>([
      ['no scope', { handlerId: HANDLER }, 'product_policy_violation'],
      ['an unknown product', { handlerId: HANDLER, scope: scopeOf('other') }, 'product_policy_violation'],
      ['another handler', { handlerId: OTHER, scope: scopeOf('narrow') }, 'product_policy_violation'],
      ['another tenant', { handlerId: HANDLER, scope: scopeOf('narrow', 'u') }, 'product_policy_violation'],
      [
        'no handler of anybody',
        { handlerId: 'unregistered', scope: scopeOf('narrow') },
        'product_policy_violation',
      ],
      [
        'too large a payload',
        { handlerId: HANDLER, scope: scopeOf('narrow'), payload: textOfBytes(101) },
        'limit_exceeded',
      ],
    ])('refuse a start with %s, and nothing is stored', async (_, body, code) => {
      const { client } = ownRuns(store(), { policies });
      await refused(code, client.start({ ...body, idempotencyKey: 'k' }));
      expect(await client.list()).toEqual([]);
      const good = { handlerId: HANDLER, scope: scopeOf('narrow'), idempotencyKey: 'k' };
      expect((await client.start({ ...good, payload: textOfBytes(100) })).admission.replayed).toBe(false);
    });

    it('let a product do all that its policy does not name', async () => {
      const { client } = ownRuns(store(), { policies });
      const body = { handlerId: OTHER, scope: scopeOf('open', 'any'), payload: textOfBytes(262_144) };
      expect((await client.start(body)).status).toBe('queued');
    });

    it('let only the workers of a product lease its runs', async () => {
      const { client } = ownRuns(store(), { policies });
      const run = await client.start({ handlerId: HANDLER, scope: scopeOf('narrow') });
      const wish = { handlerIds: [HANDLER] };
      expect(await client.lease({ ...wish, workerId: 'another' })).toBeNull();
      expect(await client.lease({ ...wish, workerId: 'another', runId: run.id })).toBeNull();
      expect(await client.lease({ ...wish, workerId: 'Its-worker' })).toBeNull();
      expect((await client.get(run.id)).attempt).toBe(0);
      expect((await client.lease({ ...wish, workerId: 'its-worker' }))?.run.id).toBe(run.id);
    });

    alone('do not let the runs of one product block workers of another', async () => {
      const { client, scope } = ownRuns(store(), { policies });
      for (let n = 0; n < 40; n += 1) await client.start({ handlerId: HANDLER, scope: scopeOf('narrow') });
      const runs = [];
      for (let n = 0; n < 2; n += 1)
        runs.push(await client.start({ handlerId: HANDLER, scope: scopeOf('open') }));
      const wish = { handlerIds: [HANDLER], workerId: 'another' };
      // The instance that started them knows them; another instance finds them only in the store.
      const other = ownRuns(store(), { scope, policies, node: 2 }).client;
      expect((await other.lease(wish))?.run.id).toBe(runs[0]?.id);
      expect((await client.lease(wish))?.run.id).toBe(runs[1]?.id);
      expect((await client.lease({ ...wish, workerId: 'its-worker' }))?.run.scope?.productId).toBe('narrow');
    });

    it('keep runs from before them readable, and lease them to no worker', async () => {
      const { client, scope } = ownRuns(store());
      const old = await client.start({ handlerId: HANDLER });
      const later = ownRuns(store(), { scope, policies }).client;
      expect(await later.lease({ handlerIds: [HANDLER], workerId: 'its-worker' })).toBeNull();
      expect((await later.get(old.id)).status).toBe('queued');
      expect((await later.cancel(old.id)).status).toBe('cancelled');
    });
  });

  describe('identity policies', () => {
    /** The same runs, as each caller sees them. */
    const everybody = () => {
      const { instance } = ownRuns(store(), { policies, access });
      return (name: string) => new ExecutionClient(instance, { kind: 'workload', principal: `${name}@x` });
    };
    const inOpen: StartBody = { handlerId: HANDLER, scope: scopeOf('open') };

    it.each<[string, StartBody]>([
      ['starter', { handlerId: HANDLER }],
      ['reader', inOpen],
      ['its-worker', inOpen],
      ['stranger', inOpen],
      ['elsewhere', inOpen],
      ['one-handler', inOpen],
      ['one-tenant', { ...inOpen, scope: scopeOf('open', 'u') }],
    ])('refuse %s to start a run that no grant allows', async (name, body) => {
      const as = everybody();
      await refused('permission_denied', as(name).start(body));
      expect(await as('everything').list()).toEqual([]);
    });

    it('bind a run to the verified caller, and not to a name in the body', async () => {
      const as = everybody();
      const run = await as('starter').start(inOpen);
      expect(run.scope).toEqual({ productId: 'open', tenantId: 't', serviceIdentity: 'starter@x' });
      const named = { ...scopeOf('open'), serviceIdentity: 'starter@x' };
      await refused('validation_failed', as('starter').start({ ...inOpen, scope: named }));
      const [created] = await as('reader').history(run.id);
      expect(created?.context.serviceIdentity).toBe('starter@x');
    });

    it.each<[string, readonly string[], (client: ExecutionClient, runId: string) => Promise<unknown>]>([
      ['read', ['everything', 'one-tenant', 'reader'], (client, runId) => client.get(runId)],
      [
        'read the history of',
        ['everything', 'one-tenant', 'reader'],
        (client, runId) => client.history(runId),
      ],
      [
        'list the artifacts of',
        ['everything', 'one-tenant', 'reader'],
        (client, runId) => client.artifacts(runId),
      ],
      [
        'raise an event into',
        ['everything', 'one-tenant', 'raiser'],
        (client, runId) => client.raise(runId, { name: 'e' }),
      ],
      ['cancel', ['everything', 'one-tenant', 'canceller'], (client, runId) => client.cancel(runId)],
    ])('let an allowed caller %s a run, and hide the run from all others', async (_, those, call) => {
      const as = everybody();
      const { id } = await as('everything').start(inOpen);
      const others = [
        'starter',
        'reader',
        'canceller',
        'raiser',
        'elsewhere',
        'one-handler',
        'its-worker',
        'stranger',
      ];
      for (const name of others.filter((each) => !those.includes(each))) {
        const hidden = await refused('not_found', call(as(name), id));
        const absent = await refused('not_found', call(as(name), '00000000000000000001'));
        expect(hidden.message).toBe(absent.message);
      }
      const before = await as('reader').get(id);
      expect(before).toMatchObject({ status: 'queued' });
      expect(await as('reader').history(id)).toHaveLength(1);
      for (const name of those) await call(as(name), id);
    });

    it('hide existing artifacts and checkpoints', async () => {
      const as = everybody();
      const { id } = await as('everything').start(inOpen);
      const lease = await as('its-worker').lease({ workerId: 'its-worker', handlerIds: [HANDLER] });
      const work = {
        leaseKey: lease?.leaseKey ?? '',
        leaseToken: lease?.leaseToken ?? '',
        workerId: 'its-worker',
      };
      await as('its-worker').putArtifact({ ...work, artifact: { name: 'a', text: '' } });
      await as('its-worker').putCheckpoint({ ...work, checkpoint: { key: 'k', content: 1, metadata: {} } });
      expect((await as('reader').artifact(id, 'a')).name).toBe('a');
      expect((await as('reader').checkpoint(id, 'k')).content).toBe(1);
      await refused('not_found', as('elsewhere').artifact(id, 'a'));
      await refused('not_found', as('elsewhere').checkpoint(id, 'k'));
      // The token alone is not enough: its holder must also be the worker.
      await refused(
        'permission_denied',
        as('everything').putArtifact({ ...work, artifact: { name: 'b', text: '' } }),
      );
      await refused('permission_denied', as('everything').complete({ ...work, result: {} }));
      expect((await as('reader').get(id)).status).toBe('running');
    });

    it('show each caller in a list the runs that it may read', async () => {
      const as = everybody();
      const runs = [];
      for (const scope of [scopeOf('open'), scopeOf('open', 'u')])
        for (const handlerId of [HANDLER, OTHER])
          runs.push(await as('everything').start({ handlerId, scope }));
      const narrow = await as('elsewhere').start({ handlerId: HANDLER, scope: scopeOf('narrow') });
      const ids = runs.map(({ id }) => id).toReversed();
      const seenBy = async (name: string, query = {}) => (await as(name).list(query)).map(({ id }) => id);
      expect(await seenBy('everything')).toEqual(ids);
      expect(await seenBy('reader', { limit: 3 })).toEqual(ids.slice(0, 3));
      expect(await seenBy('one-tenant')).toEqual(ids.slice(2));
      expect(await seenBy('one-tenant', { limit: 1 })).toEqual(ids.slice(2, 3));
      expect(await seenBy('one-handler')).toEqual([ids[0], ids[2]]);
      expect(await seenBy('elsewhere')).toEqual([narrow.id]);
      expect(await seenBy('elsewhere', { correlationId: ids[0] })).toEqual([]);
      for (const name of ['starter', 'its-worker', 'stranger']) expect(await seenBy(name)).toEqual([]);
    });

    it('hand a worker the runs that its grant covers', async () => {
      const as = everybody();
      await as('everything').start({ ...inOpen, scope: scopeOf('open', 'u') });
      const wish = { workerId: 'its-worker', handlerIds: [HANDLER] };
      expect(await as('its-worker').lease(wish)).toBeNull();
      const run = await as('everything').start(inOpen);
      expect((await as('its-worker').lease(wish))?.run.id).toBe(run.id);
      await refused('permission_denied', as('its-worker').lease({ ...wish, workerId: 'another' }));
      await refused('permission_denied', as('everything').lease(wish));
    });

    it('need a caller', async () => {
      const { client } = ownRuns(store(), { policies, access });
      await refused('unauthenticated', client.start(inOpen));
      await refused('unauthenticated', leased(client, '1'));
      await refused('unauthenticated', client.list());
    });
  });
}
