import { Command } from 'commander';
import { checkCommand } from './mcp/check.ts';
import { processInputs } from './remote/inputs.ts';
import { remoteOptions } from './remote.ts';

/** `svc mcp`: the MCP endpoint of a running service. */
export function mcpCommand(inputs = processInputs()): Command {
  const command = new Command('mcp').description('checks the MCP endpoint of a running service');
  for (const option of remoteOptions('local')) command.addOption(option);
  return command.addCommand(checkCommand(inputs));
}
