import { Command } from 'commander';
import type { ExecutionRun } from '../../contracts/generated/models.ts';
import { interruptible } from '../interruption.ts';
import { exitCodes, printLine, ToolError, warn } from '../output.ts';
import { RUN } from '../remote/answer-shape.ts';
import type { Inputs } from '../remote/inputs.ts';
import { callOperation } from '../remote/operations.ts';
import { connect, type Remote } from '../remote.ts';
import { type BulkOptions, isBulk, withBulk } from './bulk/options.ts';
import { activeStatuses } from './filter.ts';
import { runsText, runText } from './run-text.ts';

/** `svc runs cancel` */
export function cancelCommand(inputs: Inputs): Command {
  const command = new Command('cancel')
    .description(
      'cancels a run, or all that match: at once if it is queued or waits, else its worker is asked',
    )
    .argument('[runId]', 'the run; or a filter');
  return withBulk(command)
    .addHelpText(
      'after',
      `
Without --status a filter finds runs that have not ended.

Examples:
  svc runs cancel 00000001767225600000
  svc runs cancel --handler claims.check --older-than 7d --dry-run
  svc runs cancel --tag customer=1042 --yes --results cancelled.jsonl`,
    )
    .action(async (runId: string | undefined, options: BulkOptions, self: Command) => {
      const isOfMany = isBulk(runId, options);
      checkStatus(options);
      const remote = await connect(self, inputs);
      if (isOfMany) return cancelMany(remote, options);
      await cancelOne(remote, runId ?? '', options);
    });
}

function checkStatus({ status }: BulkOptions): void {
  if (status !== undefined && !activeStatuses.includes(status))
    throw new ToolError(`A run that is ${status} has ended: nothing is left to cancel.`, exitCodes.usage);
}

async function cancelOne(remote: Remote, runId: string, { output, dryRun }: BulkOptions): Promise<void> {
  const id = dryRun === true ? 'getExecutionRun' : 'cancelExecutionRun';
  const run = await interruptible('the run may be cancelled: svc runs show tells', (signal) =>
    called(remote, id, runId, signal),
  );
  printLine(output === 'json' ? runText(output, run) : runsText(output, [run]));
  if (dryRun === true) return warn(run.completedAtUtc === null ? '1 run would be cancelled.' : ended(run));
  if (run.completedAtUtc === null) warn(`The run ends when its worker stops: svc runs watch ${run.id}`);
  else if (run.status !== 'cancelled') warn(ended(run));
}

function ended({ status }: ExecutionRun): string {
  return `The run had already ended as ${status}.`;
}

async function cancelMany(remote: Remote, options: BulkOptions): Promise<void> {
  const { bulk } = await import('./bulk/bulk.ts');
  await bulk(remote, options, {
    action: 'cancel',
    words: { done: 'cancelled', doing: 'cancelling' },
    options: {},
    statuses: activeStatuses,
    async perform(runId) {
      const run = await called(remote, 'cancelExecutionRun', runId);
      return { status: run.completedAtUtc === null ? 'cancelling' : run.status };
    },
  });
}

async function called(
  remote: Remote,
  id: string,
  runId: string,
  signal?: AbortSignal,
): Promise<ExecutionRun> {
  const call = { id, params: [`runId=${runId}`], signal, shape: RUN };
  return (await callOperation<ExecutionRun>(remote, call)).data;
}
