import { Command } from 'commander';
import { exitCodes, ToolError } from '../output.ts';
import type { Inputs } from '../remote/inputs.ts';
import { connect } from '../remote.ts';
import { isBulk, withBulk } from './bulk/options.ts';
import type { RerunOptions } from './rerun/options.ts';

/** `svc runs rerun` */
export function rerunCommand(inputs: Inputs): Command {
  const command = new Command('rerun')
    .description('starts a new run with the handler, payload, scope and tags of a run, or of all that match')
    .argument('[runId]', 'the run; or a filter with --status')
    .option('--from <step>', 'keeps the results of the steps before this one')
    .option('--payload <file>', 'another payload, as JSON; - is standard input')
    .option('--idempotency-key <key>', 'for one run: a second start with this key starts nothing')
    .option('--force', 'also a run that has not ended, and steps that the run has undone');
  return withBulk(command)
    .addHelpText(
      'after',
      `
The new run has the tag rerunOf with the id of the old one.

Examples:
  svc runs rerun 00000001767225600000
  svc runs rerun 00000001767225600000 --from ship --payload corrected.json
  svc runs rerun --status failed --handler claims.check --older-than 1h --dry-run
  svc runs list --tag rerunOf=00000001767225600000`,
    )
    .action(async (runId: string | undefined, options: RerunOptions, self: Command) => {
      const isOfMany = isBulk(runId, options);
      if (isOfMany) checkMany(options);
      const remote = await connect(self, inputs);
      const { rerunMany, rerunOne } = await import('./rerun/commands.ts');
      if (isOfMany) await rerunMany(remote, options, inputs);
      else await rerunOne(remote, runId ?? '', options, inputs);
    });
}

function checkMany({ idempotencyKey, status, results }: RerunOptions): void {
  if (idempotencyKey !== undefined)
    throw new ToolError('--idempotency-key is for one run: a filter has keys of its own.', exitCodes.usage);
  // Otherwise a filter by handler alone would repeat what has succeeded.
  if (status === undefined && results === undefined)
    throw new ToolError('A filter needs --status, such as --status failed.', exitCodes.usage);
}
