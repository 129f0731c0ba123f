import { Command } from 'commander';
import { listCommand } from './outbox/list.ts';
import { replayCommand } from './outbox/replay.ts';
import { processInputs } from './remote/inputs.ts';
import { remoteOptions } from './remote.ts';

/** `svc outbox`: the outbox events of a tenant of a running service. */
export function outboxCommand(inputs = processInputs()): Command {
  const command = new Command('outbox').description(
    'lists outbox events of a tenant, and replays dead letters',
  );
  for (const option of remoteOptions('local')) command.addOption(option);
  return command.addCommand(listCommand(inputs)).addCommand(replayCommand(inputs));
}
