import { Command } from 'commander';
import type { Inputs } from '../remote/inputs.ts';

/** `svc mcp serve` */
export function serveCommand(inputs: Inputs): Command {
  return new Command('serve')
    .description('serves the MCP endpoint of a service on standard input and output, for desktop programs')
    .addHelpText(
      'after',
      `
A desktop program starts this command and speaks the Model Context Protocol with it, one message a line.
svc mcp install prints the entry for such a program. The credential comes from --identity-token-file,
--api-key-file, SVC_IDENTITY_TOKEN or SVC_API_KEY, and never from an argument; a file is read again for
each message. Standard output holds the protocol alone, standard error the log. The command ends with
its input, and with SIGTERM.

Example:
  svc mcp serve --server https://svc.example.com --identity-token-file ~/.config/svc/token`,
    )
    .action(async (_, self: Command) => {
      // Other commands start without it.
      const { serveStdio } = await import('./stdio/serve.ts');
      await serveStdio(self, inputs);
    });
}
