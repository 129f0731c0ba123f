import { Command } from 'commander';
import { folderOfNpmRun } from '../functions/config/machine.ts';
import { release } from '../functions/release.ts';
import { apiCommand } from './api/command.ts';
import { apiKeyCommand } from './api-key.ts';
import { backupCommand, backupRestoreCommand, backupVerifyCommand } from './backup.ts';
import {
  canonicalArchiveExportCommand,
  canonicalArchiveRestoreCommand,
  canonicalArchiveVerifyCommand,
} from './canonical-archive.ts';
import { canonicalMigrateCommand } from './canonical-migrate.ts';
import { canonicalExportCommand, canonicalRestoreCommand } from './canonical-snapshot.ts';
import { canonicalSweepCommand } from './canonical-sweep.ts';
import { completionCommand } from './completion.ts';
import { configCommand } from './config.ts';
import { devCommand } from './dev.ts';
import { doctorCommand } from './doctor.ts';
import { translations } from './failures.ts';
import { identityTokenCommand } from './identity-token.ts';
import { initCommand } from './init.ts';
import { mcpCommand } from './mcp.ts';
import { refuseRepeated } from './once.ts';
import { outboxCommand } from './outbox.ts';
import { endingOf, stackOf, warn } from './output.ts';
import { preflightCommand } from './preflight.ts';
import { recordsArchiveExportCommand, recordsArchiveVerifyCommand } from './records-archive.ts';
import { recordsArchiveRestoreCommand } from './records-archive-restore.ts';
import { runsCommand } from './runs.ts';
import { runsArchiveExportCommand, runsArchiveVerifyCommand } from './runs-archive.ts';
import { runsArchiveRestoreCommand } from './runs-archive-restore.ts';
import { watchStandardOutput } from './standard-output.ts';
import { tenantDeleteCommand } from './tenant-delete.ts';
import { usageCommand } from './usage.ts';

/**
 * The operator tool: `npm run -s svc -- <command>`. Data goes to standard output, everything else to standard error.
 */
const program = new Command('svc')
  .description(`${release.service} ${release.version}: the operator tool.`)
  .version(release.version, '-v, --version', 'shows the release')
  .helpOption('-h, --help', 'shows this')
  .option('--verbose', 'logs each step, and the stack of a failure')
  .addHelpText('after', exits())
  .commandsGroup('This machine:')
  .addCommand(devCommand())
  .addCommand(initCommand())
  .addCommand(doctorCommand())
  .addCommand(configCommand())
  .addCommand(apiKeyCommand())
  .addCommand(identityTokenCommand())
  .addCommand(completionCommand())
  .commandsGroup('Backups of an embedded server:')
  .addCommand(backupCommand())
  .addCommand(backupVerifyCommand())
  .addCommand(backupRestoreCommand())
  .commandsGroup('A running service:')
  .addCommand(apiCommand())
  .addCommand(runsCommand())
  .addCommand(outboxCommand())
  .addCommand(mcpCommand())
  .addCommand(preflightCommand())
  .commandsGroup('Canonical store, on its database:')
  .addCommand(usageCommand())
  .addCommand(canonicalExportCommand())
  .addCommand(canonicalRestoreCommand())
  .addCommand(canonicalArchiveExportCommand())
  .addCommand(canonicalArchiveRestoreCommand())
  .addCommand(canonicalArchiveVerifyCommand())
  .addCommand(canonicalMigrateCommand())
  .addCommand(canonicalSweepCommand())
  .commandsGroup('Collections and records, on their database:')
  .addCommand(recordsArchiveExportCommand())
  .addCommand(recordsArchiveRestoreCommand())
  .addCommand(recordsArchiveVerifyCommand())
  .commandsGroup('Runs and tenants, on their database:')
  .addCommand(runsArchiveExportCommand())
  .addCommand(runsArchiveRestoreCommand())
  .addCommand(runsArchiveVerifyCommand())
  .addCommand(tenantDeleteCommand());

for (const command of everyCommand(program)) {
  command
    .exitOverride()
    .showHelpAfterError('(--help shows the commands and options)')
    .configureHelp({ showGlobalOptions: true });
  refuseRepeated(command);
}

const isReported = watchStandardOutput();

try {
  const typedIn = folderOfNpmRun('svc');
  if (typedIn !== undefined) process.chdir(typedIn);
  await program.parseAsync(process.argv);
} catch (error) {
  if (!isReported(error)) end(error);
}

function end(error: unknown): void {
  const { exitCode, message } = endingOf(error, translations);
  process.exitCode = exitCode;
  if (message !== null) warn(program.opts<{ verbose?: true }>().verbose ? stackOf(error) : message);
}

function everyCommand(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}

function exits(): string {
  return `
Exit codes:
  0  done
  1  failed, such as a damaged archive
  2  the command line is not understood
  3  something named does not exist
  4  conflict with stored data
  5  a credential is missing or not enough
  6  a database or a service does not answer; trying again can help
  130, 143  ended by a signal
  141  the reader of the output closed it early`;
}
