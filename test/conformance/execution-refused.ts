import { describe, expect, it } from 'vitest';
import { createExecutionAccess } from '../../functions/identity/execution-access.ts';
import { removeRun } from '../../functions/runs/maintenance/remove-run.ts';
import { ADMISSIONS, admissionKey, keyHashOf, runRecord, VALUES } from '../../functions/runs/records.ts';
import { refused } from '../support/canonical.ts';
import { ExecutionClient } from '../support/execution.ts';
import { HANDLER, OTHER, openProduct, ownRuns, PLUGIN, scopeOf, storedRun } from './execution-fixtures.ts';
import { admissionIn } from './execution-runs.ts';
import type { ExecutionConformance } from './execution-suite.ts';

const LATE = 'late';
const body = { handlerId: LATE, idempotencyKey: 'k', payload: { order: 7 } };

/** A start that admission refuses for its handler, plugin or route. */
export function describeRefusedStarts({ store }: ExecutionConformance): void {
  describe('a refused start', () => {
    const both = () => {
      const { client, scope } = ownRuns(store());
      const external = [{ handlerId: HANDLER, pluginId: PLUGIN }, { handlerId: LATE }];
      return { client, scope, later: ownRuns(store(), { scope, node: 2, external }).client };
    };

    it('starts with the same key after the handler is registered', async () => {
      const { client, later } = both();
      await refused('handler_missing', client.start(body));
      const run = await later.start(body);
      expect(run).toMatchObject({ status: 'queued', admission: { replayed: false } });
      expect((await client.start(body)).id).toBe(run.id);
    });

    it('leaves the key to another request', async () => {
      const { client } = both();
      await refused('handler_missing', client.start(body));
      await refused('plugin_mismatch', client.start({ ...body, handlerId: HANDLER, pluginId: 'wrong' }));
      const run = await client.start({ ...body, handlerId: HANDLER });
      expect(run.admission.replayed).toBe(false);
      await refused('idempotency_conflict', client.start(body));
    });

    it('does not take the key with it when it is removed', async () => {
      const { client } = both();
      const gone = admissionIn(await refused('handler_missing', client.start(body)));
      const run = await client.start({ ...body, handlerId: HANDLER });
      await removeRun(
        client.instance.runtime,
        await storedRun(client, gone.resourceId),
        client.instance.runtime.world.clock.now(),
      );
      expect((await client.start({ ...body, handlerId: HANDLER })).id).toBe(run.id);
    });

    it('stores no payload', async () => {
      const { client, scope } = both();
      const text = 'x'.repeat(200_000);
      const problem = await refused('handler_missing', client.start({ handlerId: LATE, payload: { text } }));
      const { resourceId } = admissionIn(problem);
      const run = await client.get(resourceId);
      expect(run).toMatchObject({ status: 'rejected', payload: null });
      expect(run.payloadHash).toBe(run.admission.requestHash);
      expect(runRecord(await storedRun(client, resourceId)).body?.length).toBeLessThan(2_000);
      const owned = await store().query(scope, {
        by: 'list',
        collection: VALUES,
        group: resourceId,
        limit: 1,
      });
      expect(owned.records).toEqual([]);
    });

    it('of release 0.5.0, which used its key, leaves that key now', async () => {
      const { client, scope, later } = both();
      const problem = await refused('handler_missing', client.start(body));
      const { resourceId } = admissionIn(problem);
      const { payloadHash } = await storedRun(client, resourceId);
      const key = admissionKey({ scope: null }, keyHashOf('k'));
      expect(key.collection).toBe(ADMISSIONS.name);
      const head = { runId: resourceId, handlerId: LATE, askedPluginId: null, pluginId: null, payloadHash };
      await store().transact(scope, { gate: key, keys: [{ key }] }, () => ({
        writes: [{ put: { key, head } }],
        result: null,
      }));
      const run = await later.start({ ...body, payload: 'another' });
      expect(run.admission.replayed).toBe(false);
      expect((await later.start({ ...body, payload: 'another' })).id).toBe(run.id);
    });

    it('names its handler, and those that the caller may start', async () => {
      const { client } = both();
      const problem = await refused('handler_missing', client.start(body));
      expect(problem.message).toContain(`"${LATE}"`);
      expect(problem.message).toContain(`You may start: ${OTHER}, ${HANDLER}`);
      const run = await client.get(admissionIn(problem).resourceId);
      expect(run.error).toBe(`No handler is registered under the id "${LATE}"`);
      const mismatch = await refused('plugin_mismatch', client.start({ handlerId: HANDLER, pluginId: 'x' }));
      expect(mismatch.message).toContain(`"${HANDLER}" belongs to the plugin "${PLUGIN}", not to "x"`);
    });

    it('names no handler that the caller may not start', async () => {
      const starter = {
        principal: 'starter@x',
        productId: 'p',
        workerId: null,
        tenantIds: [],
        handlerIds: [OTHER, LATE],
        operations: ['start_run'],
      } as const;
      const policies = [
        { ...openProduct, productId: 'p' },
        { ...openProduct, productId: 'narrow', allowedHandlerIds: [OTHER, LATE] },
      ];
      const start = async (productId: string, access: ReturnType<typeof createExecutionAccess> | null) => {
        const { instance } = ownRuns(store(), { policies, access });
        const client = new ExecutionClient(instance, { kind: 'workload', principal: 'starter@x' });
        return refused('handler_missing', client.start({ ...body, scope: scopeOf(productId) }));
      };
      expect((await start('p', createExecutionAccess([starter]))).message).not.toContain(HANDLER);
      expect((await start('narrow', null)).message).not.toContain(HANDLER);
    });
  });
}
