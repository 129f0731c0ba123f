import { Command } from 'commander';
import { machine } from '../../functions/compose/machine.ts';
import { interruptible } from '../interruption.ts';
import { type OutputForm, outputOption, printLine, warn } from '../output.ts';
import type { Inputs } from '../remote/inputs.ts';
import { limitOption } from '../remote/paging.ts';
import { connect } from '../remote.ts';
import { type RunFilter, readRuns, withFilter } from './filter.ts';
import { runsText } from './run-text.ts';

interface ListOptions extends RunFilter {
  readonly limit: number;
  readonly output: OutputForm;
}

/** `svc runs list` */
export function listCommand(inputs: Inputs): Command {
  const command = new Command('list').description('lists runs that the caller may read, newest first');
  return withFilter(command)
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
        readRuns(remote, options, { limit: options.limit, now: machine.clock.now(), signal }),
      );
      printLine(runsText(options.output, items));
      if (more) warn(`More runs follow: --limit lists more than ${options.limit}.`);
    });
}
