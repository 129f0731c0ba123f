import { Command, Option } from 'commander';
import type { ExecutionRun } from '../../contracts/generated/models.ts';
import { interruptible } from '../interruption.ts';
import { type OutputForm, outputOption, printLine, warn } from '../output.ts';
import { RUN } from '../remote/answer-shape.ts';
import type { Inputs } from '../remote/inputs.ts';
import { callOperation } from '../remote/operations.ts';
import { itemsUpTo, limitOption } from '../remote/paging.ts';
import { connect } from '../remote.ts';
import { runsText } from './run-text.ts';

const statuses = [
  'queued',
  'waiting',
  'running',
  'succeeded',
  'failed',
  'cancelled',
  'rejected',
  'timed_out',
];

/** The longest page that the service answers. */
const pageMax = 200;

interface ListOptions {
  readonly status?: string;
  readonly handler?: string;
  readonly plugin?: string;
  readonly correlation?: string;
  readonly after?: string;
  readonly before?: string;
  readonly tag: readonly string[];
  readonly limit: number;
  readonly output: OutputForm;
}

/** `svc runs list` */
export function listCommand(inputs: Inputs): Command {
  return new Command('list')
    .description('lists runs that the caller may read, newest first')
    .addOption(new Option('--status <status>', 'only runs of this status').choices(statuses))
    .option('--handler <id>', 'only runs of this handler')
    .option('--plugin <id>', 'only runs of this plugin')
    .option('--correlation <id>', 'only runs of this correlation id')
    .option('--after <time>', 'only runs created at this moment or later, such as 2026-01-31T00:00:00Z')
    .option('--before <time>', 'only runs created at this moment or earlier')
    .addOption(
      new Option('--tag <name=value>', 'only runs with this tag; again for each')
        .default([], 'none')
        .argParser((text: string, before: string[]) => [...before, text]),
    )
    .addOption(limitOption('runs'))
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
Examples:
  svc runs list --status failed --limit 500
  svc runs list --handler claims.check --tag claim=1042 --output json`,
    )
    .action(async (options: ListOptions, self: Command) => {
      const remote = await connect(self, inputs);
      const { items, more } = await interruptible('nothing was listed', (signal) =>
        itemsUpTo(options.limit, async (query, wanted) => {
          const params = paramsOf(options, wanted);
          const shape = { list: { of: RUN.members } };
          const call = { id: 'listExecutionRuns', params, query, signal, shape };
          const { data, next } = await callOperation<readonly ExecutionRun[]>(remote, call);
          return { items: data, next };
        }),
      );
      printLine(runsText(options.output, items));
      if (more) warn(`More runs follow: --limit lists more than ${options.limit}.`);
    });
}

function paramsOf(
  { status, handler, plugin, correlation, after, before, tag }: ListOptions,
  wanted: number,
): string[] {
  const given = Object.entries({
    status,
    handlerId: handler,
    pluginId: plugin,
    correlationId: correlation,
    createdAfterUtc: after,
    createdBeforeUtc: before,
    limit: String(Math.min(wanted, pageMax)),
  }).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]));
  return [...given, ...tag.map((each) => `tag.${each}`)];
}
