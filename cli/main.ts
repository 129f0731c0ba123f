import { Command, CommanderError } from 'commander';
import { release } from '../functions/release.ts';
import { apiKeyCommand } from './api-key.ts';
import { configCommand } from './config.ts';
import { exitCodes } from './output.ts';

/** The operator tool: `npm run svc -- <command>`. Data goes to standard output, everything else to standard error. */
const program = new Command('svc')
  .description(`${release.service} ${release.version}: the operator tool.`)
  .version(release.version, '-v, --version', 'shows the release')
  .helpOption('-h, --help', 'shows this')
  .showHelpAfterError('(--help shows what there is)')
  .exitOverride()
  .addCommand(configCommand())
  .addCommand(apiKeyCommand());

try {
  await program.parseAsync(process.argv);
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  // Help and version are what was asked for; the rest is a command line that cannot be understood.
  process.exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
}
