import { setTimeout as pause } from 'node:timers/promises';
import { definePlugin, type RunContext, RunFailure } from '../../functions/runs/plugin.ts';

/** Longer than the lease of the worker, which has to renew it. */
const LONG_MS = 2_500;
const NAP_MS = 400;

/** Leaves a mark outside: at most one for each attempt, for any loss of messages and processes. */
async function mark({ payload, runId, attempt }: RunContext): Promise<void> {
  const { ledger } = payload as { readonly ledger: string };
  const body = JSON.stringify({ runId, attempt });
  const response = await fetch(ledger, { method: 'POST', body });
  if (!response.ok) throw new RunFailure('validation', `the attempt was executed before: ${body}`);
}

/** The handlers of the chaos test: a kill can interrupt each of them at any step, and another worker starts it again. */
export default definePlugin({
  pluginId: 'chaos',
  name: 'Handlers under a queue that loses and repeats',
  version: '1.0.0',
  handlers: [
    {
      handlerId: 'chaos.plain',
      async run(run) {
        await mark(run);
        return run.attempt;
      },
    },
    {
      handlerId: 'chaos.retry',
      maxAttempts: 3,
      async run(run) {
        await mark(run);
        if ((await run.readCheckpoint('failed')) !== null) return run.attempt;
        await run.writeCheckpoint('failed', true);
        throw new RunFailure('transient', 'as the first attempt should');
      },
    },
    {
      handlerId: 'chaos.event',
      async run(run) {
        await mark(run);
        await run.waitForExternalEvent('go');
        return run.attempt;
      },
    },
    {
      handlerId: 'chaos.timer',
      async run(run) {
        await mark(run);
        await run.waitForTimer('nap', new Date(Date.parse(run.createdAt) + NAP_MS));
        return run.attempt;
      },
    },
    {
      handlerId: 'chaos.key',
      concurrencyKey: 'chaos-one',
      async run(run) {
        await mark(run);
        await run.log('alone');
        return run.attempt;
      },
    },
    {
      handlerId: 'chaos.long',
      async run(run) {
        await mark(run);
        await pause(LONG_MS, null, { signal: run.signal });
        return run.attempt;
      },
    },
  ],
});
