import { type Command, Option } from 'commander';
import { exitCodes, type OutputForm, outputOption, ToolError } from '../../output.ts';
import { limitOption } from '../../remote/paging.ts';
import { filterGiven, type RunFilter, withFilter } from '../filter.ts';

/** The options of a command that takes one run or all that match a filter. */
export interface BulkOptions extends RunFilter {
  readonly limit: number;
  readonly results?: string;
  readonly yes?: true;
  readonly dryRun?: true;
  readonly output: OutputForm;
}

const limitDefault = 100_000;

export function withBulk(command: Command): Command {
  return withFilter(command)
    .addOption(limitOption('runs').default(limitDefault))
    .addOption(
      new Option('--results <file>', 'keeps the runs and their results; the same command then continues'),
    )
    .option('--yes', 'does not ask')
    .option('--dry-run', 'changes nothing, and shows the effect')
    .addOption(outputOption());
}

/** Whether the command is for many runs. Throws for a run beside a filter, and for neither. */
export function isBulk(runId: string | undefined, options: BulkOptions): boolean {
  const hasFilter = Object.keys(filterGiven(options)).length > 0 || options.results !== undefined;
  if (runId === undefined && !hasFilter)
    throw new ToolError('Name the run, or a filter such as --handler.', exitCodes.usage);
  if (runId !== undefined && hasFilter)
    throw new ToolError('Name either a run or a filter, not both.', exitCodes.usage);
  return runId === undefined;
}
