import { Command } from 'commander';
import { checkCommand, withoutEndpoint } from './mcp/check.ts';
import { installCommand } from './mcp/install.ts';
import { serveCommand } from './mcp/serve.ts';
import { processInputs } from './remote/inputs.ts';
import { remoteOptions } from './remote.ts';

/** `svc mcp`: the MCP endpoint of a running service. */
export function mcpCommand(inputs = processInputs()): Command {
  const command = new Command('mcp').description(
    'connects programs to the MCP endpoint of a service, and checks it',
  );
  for (const option of remoteOptions('local')) command.addOption(option);
  return command
    .hook('preAction', () => {
      for (const name of ['server', 'baseUrl']) {
        const given: unknown = command.getOptionValue(name);
        const source = command.getOptionValueSource(name);
        if (typeof given === 'string' && source !== undefined)
          command.setOptionValueWithSource(name, withoutEndpoint(given), source);
      }
    })
    .addCommand(serveCommand(inputs))
    .addCommand(installCommand())
    .addCommand(checkCommand(inputs));
}
