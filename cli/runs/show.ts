import { Command } from 'commander';
import type { ExecutionRun } from '../../contracts/generated/models.ts';
import { answerTable } from '../api/table.ts';
import { interruptible } from '../interruption.ts';
import { jsonText, type OutputForm, outputOption, outputWidth, printLine } from '../output.ts';
import { RUN } from '../remote/answer-shape.ts';
import type { Inputs } from '../remote/inputs.ts';
import { callOperation } from '../remote/operations.ts';
import { itemsUpTo } from '../remote/paging.ts';
import { connect, type Remote } from '../remote.ts';
import { runText } from './run-text.ts';

interface ShowOptions {
  readonly history?: true;
  readonly output: OutputForm;
}

interface TraceEvent {
  readonly sequenceId: string;
  readonly type: string;
}

const historyMax = 1_000;

/** `svc runs show` */
export function showCommand(inputs: Inputs): Command {
  return new Command('show')
    .description('shows a run, with its payload and its result')
    .argument('<runId>', 'the run')
    .option('--history', `also its history, up to ${historyMax} events`)
    .addOption(outputOption())
    .action(async (runId: string, { history, output }: ShowOptions, self: Command) => {
      const remote = await connect(self, inputs);
      await interruptible('nothing was changed', async (signal) => {
        const run = await readRun(remote, runId, signal);
        const events = history === true ? await readHistory(remote, runId, signal) : null;
        if (output === 'json') return printLine(jsonText(events === null ? run : { run, history: events }));
        printLine(runText(output, run));
        if (events !== null) printLine(`\n${answerTable(events, outputWidth())}`);
      });
    });
}

/** The run with its result. */
export async function readRun(
  remote: Remote,
  runId: string,
  signal: AbortSignal,
  waitSeconds = 0,
): Promise<ExecutionRun> {
  const wait = waitSeconds === 0 ? [] : [`waitSeconds=${waitSeconds}`];
  const params = [`runId=${runId}`, 'includeResult=true', ...wait];
  const call = { id: 'getExecutionRun', params, signal, shape: RUN };
  return (await callOperation<ExecutionRun>(remote, call)).data;
}

async function readHistory(
  remote: Remote,
  runId: string,
  signal: AbortSignal,
): Promise<readonly TraceEvent[]> {
  const { items } = await itemsUpTo(historyMax, async (after: string | undefined) => {
    const params = [
      `runId=${runId}`,
      'limit=200',
      ...(after === undefined ? [] : [`afterSequenceId=${after}`]),
    ];
    const shape = { list: { of: ['sequenceId', 'type'] } };
    const call = { id: 'getExecutionRunHistory', params, signal, shape };
    const { data } = await callOperation<readonly TraceEvent[]>(remote, call);
    return { items: data, next: data.at(-1)?.sequenceId ?? null };
  });
  return items;
}
