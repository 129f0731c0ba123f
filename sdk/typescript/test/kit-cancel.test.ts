import { expect, test } from 'vitest';
import { type Steps, WorkStopped } from '../src/worker/index.ts';
import { type RunDefinition, runSteps } from '../src/worker/steps/run-steps.ts';
import { RunStage, startsAt, turns } from './steps-stage.ts';

/** A run that is leased to undo its work: the service would end it if it parked. */

test('is undone under its lease, with short delays, and begins nothing', async () => {
  const stage = new RunStage();
  const seen: string[] = [];
  const definition: RunDefinition = {
    id: 'h',
    run: async ({ step, sleep }: Steps) => {
      await step('flight', () => 'F1', {
        retry: { delay: '1h' },
        undo: (flight, { attempt, signal }) => {
          seen.push(`undo ${flight} ${attempt} ${signal.aborted}`);
          if (attempt === 1) throw new Error('again');
        },
      });
      await sleep('rest', '1d').catch(() => undefined);
      await step('hotel', () => void seen.push('hotel'));
    },
  };
  expect(await stage.execute(definition)).toBeNull();
  const calls = stage.calls.length;

  const over = new AbortController();
  const cancelled = new AbortController();
  cancelled.abort(new WorkStopped('cancelled'));
  stage.attempt += 1;
  const port = stage.port(over);
  const run = { ...port.run, cancellationRequested: true };
  const ended: unknown[] = [];
  void runSteps(definition, { ...port, run, signal: cancelled.signal, over: over.signal }).catch(
    (reason: unknown) => void ended.push(reason),
  );
  while (ended.length === 0) {
    await turns();
    if (ended.length === 0 && !stage.clock.tick()) throw new Error('nothing happens');
  }
  expect(ended[0]).toMatchObject({ name: 'Stop', message: 'The run was cancelled.' });
  expect(seen).toEqual(['undo F1 1 false', 'undo F1 2 false']);
  expect(stage.calls.slice(calls).filter((call) => call.startsWith('wait'))).toEqual([]);
  expect(stage.clock.at).toBe(startsAt + 5_000);
  expect(stage.segments.join()).toContain('"@ending"');
});
