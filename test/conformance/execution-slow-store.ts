import { describe, expect, test } from 'vitest';
import { ExecutionClient, executionInstance } from '../support/execution.ts';
import { patched } from './canonical-outbox-tenant.ts';
import { begun, event, HANDLER, leased, proofOf, Stage } from './execution-stage.ts';
import type { ExecutionConformance } from './execution-suite.ts';

const SLOW_MS = 10_000;

/** A client of the same deployment whose store waits for its locks: each transaction takes ten seconds of the clock. */
function slowClient(stage: Stage): ExecutionClient {
  const { store, scope, time, world } = stage;
  const slow = patched(store, {
    transact: (where, request, decide) =>
      store.transact(where, request, (found) => {
        time.now += SLOW_MS;
        return decide(found);
      }),
  });
  return new ExecutionClient(
    executionInstance(slow, { world, scope, external: [{ handlerId: HANDLER }], node: 9 }),
  );
}

/** Callers decide by the clock after the locks, as the holders of leases do. */
export function describeSlowStore({ store }: ExecutionConformance): void {
  describe('while the store waits', () => {
    test('a lease ends: a cancellation then ends the run at once, at the time of its decision', async () => {
      const stage = new Stage(store());
      const { id } = await begun(stage.client(), {}, { ttlSeconds: SLOW_MS / 1_000 - 1 });
      const run = await slowClient(stage).cancel(id);
      expect(run).toMatchObject({ status: 'cancelled', cancellationRequested: true });
      expect(run.completedAtUtc).toBe(new Date(stage.time.now).toISOString());
    });

    test('a deadline passes: the wait times out before the event that is raised', async () => {
      const stage = new Stage(store());
      const client = stage.client();
      const { id, proof } = await begun(client);
      const timeoutAtUtc = new Date(stage.time.now + SLOW_MS - 1).toISOString();
      await event(client, proof, 'e', { timeoutAtUtc });
      const raised = await slowClient(stage).raise(id, { name: 'e' });
      expect(raised.raisedAtUtc).toBe(new Date(stage.time.now).toISOString());
      const again = await leased(client, { runId: id });
      expect((await event(client, proofOf(again))).outcome).toMatchObject({
        outcome: 'timed_out',
        event: null,
      });
      expect((await event(client, proofOf(again))).outcome).toMatchObject({ event: raised });
    });
  });
}
