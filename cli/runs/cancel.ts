import { Command } from 'commander';
import type { ExecutionRun } from '../../contracts/generated/models.ts';
import { interruptible } from '../interruption.ts';
import { type OutputForm, outputOption, printLine, warn } from '../output.ts';
import { RUN } from '../remote/answer-shape.ts';
import type { Inputs } from '../remote/inputs.ts';
import { callOperation } from '../remote/operations.ts';
import { connect } from '../remote.ts';
import { runsText, runText } from './run-text.ts';

/** `svc runs cancel` */
export function cancelCommand(inputs: Inputs): Command {
  return new Command('cancel')
    .description('cancels a run: at once where it is queued or waits, else its worker is asked to stop')
    .argument('<runId>', 'the run')
    .addOption(outputOption())
    .action(async (runId: string, { output }: { readonly output: OutputForm }, self: Command) => {
      const remote = await connect(self, inputs);
      const { data: run } = await interruptible('the run may be cancelled: svc runs show tells', (signal) =>
        callOperation<ExecutionRun>(remote, {
          id: 'cancelExecutionRun',
          params: [`runId=${runId}`],
          signal,
          shape: RUN,
        }),
      );
      printLine(output === 'json' ? runText(output, run) : runsText(output, [run]));
      if (run.completedAtUtc === null) warn(`The run ends when its worker stops: svc runs watch ${run.id}`);
      else if (run.status !== 'cancelled') warn(`The run had already ended as ${run.status}.`);
    });
}
