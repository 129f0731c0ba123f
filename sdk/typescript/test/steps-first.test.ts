import { expect, test } from 'vitest';
import type { JsonValue } from '../src/generated/models.ts';
import type { RunDefinition } from '../src/worker/steps/run-steps.ts';
import { RunStage } from './steps-stage.ts';

/** A run whose start gave it the journal of another run. */

function charged(effects: string[]): RunDefinition {
  return {
    id: 'refund',
    async run({ step }) {
      const charge = await step('charge', () => {
        effects.push('charge');
        return { id: 'ch_1' };
      });
      await step('mail', () => {
        effects.push('mail');
      });
      return charge;
    },
  };
}

const head: JsonValue = { k: '@', t: 'mark', v: { format: 1, handler: 'refund', version: '1' } };
const settled: JsonValue = { k: 'charge', t: 'step', v: { id: 'ch_0' }, ms: 1, at: 1 };

test('the first attempt reads a journal that the start gave', async () => {
  const effects: string[] = [];
  const stage = new RunStage({ first: new Map([['svc.steps.0', [head, settled]]]) });
  expect(await stage.drive(charged(effects))).toEqual({ result: { id: 'ch_0' } });
  expect(effects).toEqual(['mail']);
  expect(stage.count('read')).toBe(1);
});

test('a run without first checkpoints reads nothing', async () => {
  const effects: string[] = [];
  const stage = new RunStage();
  expect(await stage.drive(charged(effects))).toEqual({ result: { id: 'ch_1' } });
  expect([effects, stage.count('read')]).toEqual([['charge', 'mail'], 0]);
});
