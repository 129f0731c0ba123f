import { describe, expect, test } from 'vitest';
import { RUN_OPTIONS, TEST_ADAPTER } from '../support/run-options.ts';
import { HANDLER, leased, proofOf, Stage } from './execution-stage.ts';
import type { ExecutionConformance } from './execution-suite.ts';

/** The status documents of the runtime: specification, Status surface. */
export function describeRuntime({ store }: ExecutionConformance): void {
  describe('the runtime documents', () => {
    test('hold the adapter, its limits and every handler', async () => {
      const client = new Stage(store()).client();
      const { status, handlers, plugins } = await client.runtime();
      const { adapterId, runtimeKind } = RUN_OPTIONS;
      expect(status).toMatchObject({
        adapter: { adapterId, runtimeKind, capabilities: TEST_ADAPTER.capabilities },
        operationalPolicy: { maxPayloadBytes: RUN_OPTIONS.payloadBytesMax },
        resumePolicy: { mode: 'restart_recovery' },
      });
      expect(handlers.map(({ handlerId }) => handlerId)).toContain(HANDLER);
      expect(plugins).toBeInstanceOf(Array);
    });

    test('count the active runs of the whole deployment', async () => {
      const stage = new Stage(store());
      const [client, other] = [stage.client(), stage.client()];
      await client.start({ handlerId: HANDLER });
      await other.start({ handlerId: HANDLER });
      expect((await other.runtime()).status.activeRuns).toBe(2);
      await client.complete({ ...proofOf(await leased(client)), result: {} });
      expect((await other.runtime()).status.activeRuns).toBe(1);
    });

    test('show a caller the handlers that it may start, in the scope that it names', async () => {
      const client = new Stage(store()).client();
      const { scope, handlers } = await client.effectiveRuntime({ productId: 'p', tenantId: 't' });
      expect(scope).toMatchObject({ productId: 'p', tenantId: 't' });
      expect(handlers.map(({ handlerId }) => handlerId)).toEqual([HANDLER]);
    });
  });
}
