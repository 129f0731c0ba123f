import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { type ClientName, clientNames } from './install/client-names.ts';
import type { InstallOptions } from './install/install.ts';

/** `svc mcp install` */
export function installCommand(): Command {
  return new Command('install')
    .description('prints the entry with which a desktop program starts svc mcp serve, or writes it')
    .addArgument(new Argument('<client>', 'the program').choices(clientNames))
    .option('--write', 'writes the entry into the file of the program; the old file stays as a backup')
    .option('--file <file>', 'another file than the usual one of the program')
    .addOption(
      new Option('--name <name>', 'name of the entry').default('svc').argParser((text) => {
        if (/^[A-Za-z0-9_-]{1,64}$/.test(text)) return text;
        throw new InvalidArgumentError('It must be 1 to 64 letters, digits, - and _.');
      }),
    )
    .addHelpText(
      'after',
      `
The entry names --server and the file of the credential, and never holds a credential. --write keeps all else
in the file, and refuses a file that it cannot read.

Examples:
  svc mcp install claude-desktop --server https://svc.example.com --identity-token-file ~/.config/svc/token --write
  svc mcp install codex --write`,
    )
    .action(async (client: ClientName, options: InstallOptions, self: Command) => {
      // Other commands start without it.
      const { install } = await import('./install/install.ts');
      await install(client, options, self);
    });
}
