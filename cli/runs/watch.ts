import { setTimeout as pause } from 'node:timers/promises';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { ExecutionRun } from '../../contracts/generated/models.ts';
import { machine } from '../../functions/compose/machine.ts';
import { interruptible } from '../interruption.ts';
import { exitCodes, type OutputForm, outputOption, printLine, ToolError, warn } from '../output.ts';
import type { Inputs } from '../remote/inputs.ts';
import { connect, type Remote } from '../remote.ts';
import { runText, stateOf } from './run-text.ts';
import { readRun } from './show.ts';

interface WatchOptions {
  readonly waitTimeout?: number;
  readonly output: OutputForm;
}

/** The service answers a read after this time, so that a change of the status shows within it. */
const READ_SECONDS = 5;
/** The pause after an answer that did not wait: the service has too many waiting calls. */
const PAUSE_MS = 1_000;

/** `svc runs watch` */
export function watchCommand(inputs: Inputs): Command {
  return new Command('watch')
    .description('waits until a run has ended, and shows it; exits with 1 where it did not succeed')
    .argument('<runId>', 'the run')
    .addOption(
      new Option('--wait-timeout <seconds>', 'how long to wait for the end; exits with 6 after it').argParser(
        (text) => {
          if (/^\d{1,7}(\.\d{1,3})?$/.test(text)) return Number(text);
          throw new InvalidArgumentError('It must be a number of seconds.');
        },
      ),
    )
    .addOption(outputOption())
    .action(async (runId: string, { waitTimeout, output }: WatchOptions, self: Command) => {
      const remote = await connect(self, inputs);
      const run = await interruptible('the run goes on', (signal) =>
        ended(remote, runId, waitTimeout ?? Number.POSITIVE_INFINITY, signal),
      );
      printLine(runText(output, run));
      process.exitCode = run.status === 'succeeded' ? exitCodes.ok : exitCodes.failed;
    });
}

const now = () => machine.clock.now();

async function ended(
  remote: Remote,
  runId: string,
  waitSeconds: number,
  signal: AbortSignal,
): Promise<ExecutionRun> {
  const until = now() + waitSeconds * 1_000;
  for (let shown = '', isFirst = true; ; isFirst = false) {
    const begun = now();
    const left = Math.max(0, until - begun) / 1_000;
    const seconds = isFirst ? 0 : Math.min(READ_SECONDS, Math.ceil(left * 1_000) / 1_000);
    const run = await readRun(remote, runId, signal, seconds);
    if (run.completedAtUtc !== null) return run;
    const state = stateOf(run);
    if (state !== shown) warn(state);
    shown = state;
    if (now() >= until)
      throw new ToolError(
        'The run did not end in the time of --wait-timeout; it goes on.',
        exitCodes.unavailable,
      );
    if (!isFirst && now() - begun < (seconds * 1_000) / 2)
      await pause(Math.min(PAUSE_MS, until - now()), undefined, { signal });
  }
}
