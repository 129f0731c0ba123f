import { describe, expect, test } from 'vitest';
import { createExecutionAccess, type ExecutionGrant } from '../../functions/identity/execution-access.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { ExecutionClient } from '../support/execution.ts';
import { child, waitFor } from './execution-children-stage.ts';
import { HANDLER, OTHER, openProduct, ownRuns, scopeOf } from './execution-fixtures.ts';
import { proofOf, refusedWith } from './execution-stage.ts';
import type { ExecutionConformance } from './execution-suite.ts';

const scope = scopeOf('open');
const grant = (principal: string, more: Partial<ExecutionGrant>): ExecutionGrant => ({
  principal,
  productId: 'open',
  workerId: null,
  tenantIds: ['t'],
  handlerIds: [],
  operations: ['start_run', 'read_run'],
  ...more,
});

const access = createExecutionAccess([
  grant('all@x', {}),
  grant('one@x', { handlerIds: [HANDLER] }),
  grant('worker@x', { operations: ['worker'], workerId: 'w' }),
]);
const policies = [{ ...openProduct, productId: 'open', allowedHandlerIds: [HANDLER, OTHER] }];

/** A caller's run, held by a worker that may start no run itself. */
async function heldBy(store: RecordStore, principal: string) {
  const { instance } = ownRuns(store, { access, policies });
  const as = (name: string) => new ExecutionClient(instance, { kind: 'workload', principal: name });
  const { id } = await as(principal).start({ handlerId: HANDLER, scope });
  const worker = as('worker@x');
  const lease = await worker.lease({ workerId: 'w', handlerIds: [HANDLER], runId: id });
  if (lease === null) throw new Error('there was nothing to lease');
  return { as, id, worker, proof: proofOf(lease) };
}

/** The rights with which a worker starts children. */
export function describeChildRights({ store }: ExecutionConformance): void {
  describe('the rights of a child', () => {
    test('are those of the principal that started its parent', async () => {
      const { as, id, worker, proof } = await heldBy(store(), 'all@x');
      const runId = await child(worker, proof, 'c', { handlerId: OTHER });
      expect(await as('all@x').get(runId)).toMatchObject({
        parentRunId: id,
        scope: { ...scope, serviceIdentity: 'all@x' },
      });
      expect(await refusedWith(worker.start({ handlerId: OTHER, scope }))).toBe('permission_denied');
    });

    test('do not reach a handler that this principal may not start', async () => {
      const { worker, proof } = await heldBy(store(), 'one@x');
      expect(await refusedWith(child(worker, proof, 'c', { handlerId: OTHER }))).toBe('permission_denied');
      expect(await child(worker, proof)).toMatch(/^\d{20}$/);
    });

    test('do not reach a handler that the product may not start', async () => {
      const { worker, proof } = await heldBy(store(), 'all@x');
      expect(await refusedWith(child(worker, proof, 'c', { handlerId: 'test.more' }))).toBe(
        'product_policy_violation',
      );
    });

    test('need the worker of the lease', async () => {
      const { as, proof, worker } = await heldBy(store(), 'all@x');
      const runId = await child(worker, proof);
      expect(await refusedWith(child(as('all@x'), proof))).toBe('permission_denied');
      expect(await refusedWith(waitFor(as('all@x'), proof, runId))).toBe('permission_denied');
    });
  });
}
