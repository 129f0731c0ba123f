import { describe, expect, it } from 'vitest';
import type { ExecutionRun } from '../../contracts/generated/models.ts';
import { createExecutionAccess, type ExecutionGrant } from '../../functions/identity/execution-access.ts';
import { refused } from '../support/canonical.ts';
import { ExecutionClient } from '../support/execution.ts';
import { HANDLER, openProduct, ownRuns, scopeOf } from './execution-fixtures.ts';
import type { ExecutionConformance } from './execution-suite.ts';

const SECRETS = [
  'the payload',
  'the result',
  'the details',
  'the error',
  'the step',
  'the tag',
  'the version',
  'owner@x',
];

const body = {
  handlerId: HANDLER,
  idempotencyKey: 'k',
  payload: { text: 'the payload' },
  tags: { note: 'the tag' },
  scope: scopeOf('p'),
};

const grant = (principal: string, ...operations: ExecutionGrant['operations'][number][]): ExecutionGrant => ({
  principal,
  productId: 'p',
  workerId: operations.includes('worker') ? 'w' : null,
  tenantIds: [],
  handlerIds: [],
  operations,
});

const access = createExecutionAccess([
  grant('owner@x', 'start_run', 'read_run', 'cancel_run'),
  grant('blind@x', 'start_run', 'cancel_run', 'raise_event'),
  grant('worker@x', 'worker'),
]);

/** Answers to callers who may change a run, but not read it. */
export function describeUnread({ store }: ExecutionConformance): void {
  describe('a caller who may not read runs', () => {
    const world = async (status: 'running' | 'failed' | 'rejected') => {
      const policies = [{ ...openProduct, productId: 'p' }];
      const { instance } = ownRuns(store(), { policies, access });
      const as = (name: string) =>
        new ExecutionClient(instance, { kind: 'workload', principal: `${name}@x` });
      const { id } = await as('owner').start(body);
      const lease = await as('worker').lease({
        workerId: 'w',
        handlerIds: [HANDLER],
        handlerVersion: 'the version',
      });
      const work = { leaseKey: lease?.leaseKey ?? '', leaseToken: lease?.leaseToken ?? '', workerId: 'w' };
      const statusDetails = { text: 'the details' };
      await as('worker').report({
        ...work,
        update: { currentStep: 'the step', result: 'the result', statusDetails },
      });
      if (status !== 'running') {
        const result = { status, failureClass: 'validation', error: 'the error' };
        await as('worker').complete({ ...work, result });
      }
      return { as, id };
    };
    const expectReceipt = (run: ExecutionRun, id: string, status: string) => {
      expect(run).toMatchObject({ id, status, attempt: 1, payload: null, result: null, statusDetails: null });
      expect(run.admission.resourceId).toBe(id);
      for (const secret of SECRETS) expect(JSON.stringify(run)).not.toContain(secret);
    };

    it.each(['running', 'failed'] as const)(
      'starts again what is %s, and gets the receipt',
      async (status) => {
        const { as, id } = await world(status);
        expectReceipt(await as('blind').start(body), id, status);
        const whole = await as('owner').start(body);
        for (const secret of ['the payload', 'the result', 'the details', 'the tag', 'the version'])
          expect(JSON.stringify(whole)).toContain(secret);
      },
    );

    it('starts a rejected run again, and does not learn the reason', async () => {
      const { as, id } = await world('rejected');
      const problem = await refused('admission_rejected', as('blind').start(body));
      expect(problem.extensions.admission).toMatchObject({ resourceId: id, status: 'rejected', error: null });
      expect(problem.message).not.toContain('the error');
      expect((await refused('admission_rejected', as('owner').start(body))).message).toBe('the error');
    });

    it.each(['running', 'failed'] as const)('cancels what is %s, and gets the receipt', async (status) => {
      const { as, id } = await world(status);
      expectReceipt(await as('blind').cancel(id), id, status);
      expect((await as('owner').cancel(id)).payload).toEqual(body.payload);
    });

    it('raises an event, and gets back its own values', async () => {
      const { as, id } = await world('running');
      const event = await as('blind').raise(id, { name: 'e', payload: 1 });
      expect(event).toMatchObject({ name: 'e', runId: id, payload: 1 });
      expect(Object.keys(event).sort()).toEqual(['id', 'name', 'payload', 'raisedAtUtc', 'runId']);
    });
  });
}
