import { createWorker, stopOnSignals } from '../src/worker/index.ts';
import { machine } from '../src/world.ts';

/**
 * A worker in its own process, for tests that kill it: its name, the seconds of its leases, and the number of runs after which it
 * ends none. It prints a line when a run begins.
 */

const holdsAfter = Number(process.argv[4] ?? Infinity);
let begun = 0;

const worker = createWorker({
  workerId: process.argv[2] ?? 'program',
  concurrency: 4,
  leaseSeconds: Number(process.argv[3] ?? 1),
  waitSeconds: 1,
  handlers: {
    async h0({ run, payload, checkpoint, readCheckpoint, recordEvent, waitForTimer }) {
      process.stdout.write(`begun ${run.id}\n`);
      begun += 1;
      if (begun >= holdsAfter) await new Promise<never>(() => undefined);
      const before = await readCheckpoint('begun');
      if (before === null) await checkpoint('begun', { attempt: run.attempt });
      await recordEvent({ type: 'worked', message: `attempt ${run.attempt}` });
      await waitForTimer('pause', { seconds: 0.02 });
      return payload;
    },
    /** Runs until its signal is aborted. */
    async h1({ run, signal }) {
      process.stdout.write(`begun ${run.id}\n`);
      await new Promise<void>((resolve) => machine.after(300, resolve));
      return { stopped: signal.aborted };
    },
  },
});
stopOnSignals(worker, { graceSeconds: 10 });
await worker.run();
process.stdout.write('ended\n');
