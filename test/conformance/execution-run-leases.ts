import { describe, expect, test } from 'vitest';
import { LEASES, leaseRecordKey } from '../../functions/runs/records.ts';
import { scopeOf } from './execution-fixtures.ts';
import { held } from './execution-handlers-life.ts';
import { executed, pluginOf } from './execution-plugins.ts';
import { Stage } from './execution-stage.ts';
import type { ExecutionConformance } from './execution-suite.ts';

const HELD = 'p.held';

/** Run-owned leases: the runs that a name excludes, and the time of the exclusion. */
export function describeRunLeases({ store }: ExecutionConformance): void {
  describe('a name of a run-owned lease', () => {
    const world = () => {
      const stage = new Stage(store());
      const { executions, run } = held();
      const client = stage.client({ plugins: [pluginOf({ [HELD]: run })], leaseMs: 8_000 });
      /** A run that executes; its context, and the way to end it. */
      const begun = async (scope: ReturnType<typeof scopeOf> | null = scopeOf('p')) => {
        const { id } = await executed(stage, client, HELD, { scope });
        const execution = executions.at(-1);
        if (execution === undefined) throw new Error('nothing was executed');
        return { id, ...execution };
      };
      return { stage, client, begun };
    };

    test('is one for each product and tenant', async () => {
      const { begun } = world();
      const scopes = [scopeOf('p'), scopeOf('p', 'u'), scopeOf('q'), null];
      for (const scope of scopes) {
        const run = await begun(scope);
        expect(await run.context.acquireLease('order-7', 600)).toBe(true);
      }
      for (const scope of scopes) {
        const run = await begun(scope);
        expect(await run.context.acquireLease('order-7', 600)).toBe(false);
      }
    });

    test.each(['succeeds', 'fails', 'is cancelled'])('is free when its run %s', async (how) => {
      const { stage, client, begun } = world();
      const first = await begun();
      const second = await begun();
      expect(await first.context.acquireLease('order-7', 86_400)).toBe(true);
      expect(await second.context.acquireLease('order-7', 600)).toBe(false);
      if (how === 'is cancelled') await client.cancel(first.id);
      if (how === 'succeeds') first.end();
      else first.fail(new Error('it ends'));
      await stage.quiet();
      expect(['succeeded', 'failed', 'cancelled']).toContain((await client.get(first.id)).status);
      expect(await second.context.acquireLease('order-7', 600)).toBe(true);
    });

    test('is free when the run of a dead process fails by its lease', async () => {
      const { stage, client, begun } = world();
      const options = { leaseExpirationsMax: 1 };
      const dead = held();
      const doomed = stage.client({ plugins: [pluginOf({ [HELD]: dead.run })], options, leaseMs: 1_000 });
      const { id } = await executed(stage, doomed, HELD, { scope: scopeOf('p') });
      expect(await dead.executions[0]?.context.acquireLease('order-7', 86_400)).toBe(true);
      const second = await begun();
      expect(await second.context.acquireLease('order-7', 600)).toBe(false);
      stage.time.advance(1_000);
      await stage.settle(doomed.instance);
      expect(await client.get(id)).toMatchObject({ status: 'failed', failureClass: 'lease_expired' });
      expect(await second.context.acquireLease('order-7', 600)).toBe(true);
    });

    test('stays with its run over a wait', async () => {
      const { stage, client, begun } = world();
      const second = await begun();
      const plugin = pluginOf({
        'p.waits': async (context) => {
          expect(await context.acquireLease('order-7', 86_400)).toBe(true);
          return (await context.waitForExternalEvent('go')).event?.payload;
        },
      });
      const other = stage.client({ plugins: [plugin] });
      const { id } = await executed(stage, other, 'p.waits', { scope: scopeOf('p') });
      expect(await client.get(id)).toMatchObject({ status: 'waiting' });
      expect(await second.context.acquireLease('order-7', 600)).toBe(false);
    });

    test('of release 0.5.0 excludes runs of the same product and tenant only', async () => {
      const { stage, begun } = world();
      const holder = await begun(scopeOf('p'));
      const key = leaseRecordKey('order-7', null);
      expect(key.collection).toBe(LEASES.name);
      const expiresAt = stage.time.now + 86_400_000;
      const head = { name: 'order-7', runId: holder.id, acquiredAt: stage.time.now, expiresAt };
      const listing = { group: holder.id, id: key.id, hidden: false, indexes: {} };
      await store().transact(stage.scope, { gate: key, keys: [{ key }] }, () => ({
        writes: [{ put: { key, head, body: '{}', listing } }],
        result: null,
      }));
      expect(await (await begun(scopeOf('q'))).context.acquireLease('order-7', 600)).toBe(true);
      const rival = await begun(scopeOf('p'));
      expect(await rival.context.acquireLease('order-7', 600)).toBe(false);
      expect(await holder.context.releaseLease('order-7')).toBe(true);
      expect(await rival.context.acquireLease('order-7', 600)).toBe(true);
    });
  });
}
