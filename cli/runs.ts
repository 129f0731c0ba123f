import { Command } from 'commander';
import { processInputs } from './remote/inputs.ts';
import { remoteOptions } from './remote.ts';
import { cancelCommand } from './runs/cancel.ts';
import { journalCommand } from './runs/journal.ts';
import { listCommand } from './runs/list.ts';
import { rerunCommand } from './runs/rerun.ts';
import { showCommand } from './runs/show.ts';
import { watchCommand } from './runs/watch.ts';

/** `svc runs`: the runs of a running service. */
export function runsCommand(inputs = processInputs()): Command {
  const command = new Command('runs').description(
    'lists, shows, cancels, repeats and watches runs of a running service',
  );
  for (const option of remoteOptions('local')) command.addOption(option);
  return command
    .addCommand(listCommand(inputs))
    .addCommand(showCommand(inputs))
    .addCommand(journalCommand(inputs))
    .addCommand(cancelCommand(inputs))
    .addCommand(rerunCommand(inputs))
    .addCommand(watchCommand(inputs));
}
