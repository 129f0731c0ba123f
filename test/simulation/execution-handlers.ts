import type { RunContext } from '../../functions/runs/plugin.ts';
import { type PluginHandler, RunFailure } from '../../functions/runs/plugin.ts';
import type { Host } from './execution-cluster.ts';
import type { ExecutionFaults } from './execution-faults.ts';
import { CONCURRENCY_MAX } from './execution-instance.ts';
import type { Scheduler } from './scheduler.ts';
import { Violation } from './violation.ts';

/** Handlers that live in an instance, and die with it. */
export function handlersIn(host: Host, scheduler: Scheduler, faults: ExecutionFaults): PluginHandler[] {
  const { random } = scheduler;
  const { name, process } = host;
  const executed = new Set<RunContext>();
  /** An instance executes no more at a time than it may, and hears of a run that it has lost before it executes it anew. */
  const work = async (context: RunContext) => {
    const others = [...executed].filter(({ signal }) => !signal.aborted);
    if (others.some(({ runId }) => runId === context.runId))
      fail(`${context.runId} is executed twice in ${name}`);
    if (others.length >= CONCURRENCY_MAX) fail(`${name} executes ${others.length + 1} runs`);
    executed.add(context);
    try {
      return await perform(context);
    } finally {
      executed.delete(context);
    }
  };
  const fail = (message: string) => scheduler.fail(new Violation('one at a time', message));
  const perform = async (context: RunContext) => {
    const { deed } = context.payload as { readonly deed: string };
    await scheduler.park(process, `${name} executes ${deed}`);
    if (deed === 'poison' && faults.killed > 0 && random.chance(0.2)) {
      host.crash();
      await scheduler.park(process, 'never');
    }
    await context.report({ currentStep: `step ${random.below(9)}` });
    if (random.chance(0.2)) await nap(scheduler, process, context.signal, random.below(300) * 50);
    if (deed === 'wait event' || deed === 'wait both') {
      const timeoutAt = new Date(scheduler.now + random.below(100) * 50);
      await context.waitForExternalEvent('go', random.chance(0.5) ? { timeoutAt } : {});
    }
    if (deed === 'wait timer' || deed === 'wait both') {
      await context.waitForTimer('nap', new Date(scheduler.now + random.below(80) * 50));
    }
    if (deed === 'fail') throw new RunFailure('transient', 'failed');
    if (deed === 'invalid') throw new RunFailure('validation', 'invalid');
    if (deed === 'time out') throw new RunFailure('timeout', 'late', { status: 'timed_out' });
    if (deed === 'poison') throw new Error('poison');
    return { by: name };
  };
  return [
    { handlerId: 'p-free', maxAttempts: 2, run: work },
    { handlerId: 'p-key', maxAttempts: 2, concurrencyKey: 'in-process', run: work },
  ];
}

/** Ends early where the run is to be cancelled. */
function nap(
  scheduler: Scheduler,
  process: Host['process'],
  signal: AbortSignal,
  delayMs: number,
): Promise<void> {
  return new Promise((resolve) => {
    const cancel = scheduler.after(process, delayMs, resolve, 'nap');
    signal.addEventListener('abort', () => {
      cancel();
      resolve();
    });
  });
}
