import { resolve } from 'node:path';
import { Command } from 'commander';
import { isAll, type RunsOf } from '../functions/runs/copies/archive-lines.ts';
import {
  type ExistingRuns,
  existingRuns,
  restoreRuns,
  verifyRuns,
} from '../functions/runs/copies/restore-runs.ts';
import { NoStoreError } from '../functions/store/port.ts';
import { archiveDirectory } from './archive-directory.ts';
import { newProgress } from './canonical-snapshot.ts';
import { confirmByName, mustAsk } from './confirm.ts';
import { createOption, expectedHashOption, pathOption } from './copy-options.ts';
import { interruptible } from './interruption.ts';
import { exitCodes, printResult, ToolError, warn } from './output.ts';
import { archiveResult, type RunsOptions, runsOf, runsOfCommand, wordsOf } from './runs-archive-options.ts';
import { withStore } from './store.ts';

interface RestoreOptions extends RunsOptions {
  readonly directory: string;
  readonly expectedContentHash?: string;
  readonly replace?: true;
  readonly dryRun?: true;
  readonly yes?: true;
  readonly create?: true;
}

/** `svc runs-archive-restore`: brings the runs of such a folder into a database, where they go on. */
export function runsArchiveRestoreCommand(): Command {
  const command = new Command('runs-archive-restore')
    .description('restores runs from an archive of them; they go on where the archive was made')
    .addOption(pathOption('--directory <path>', 'the folder of the archive'))
    .addOption(expectedHashOption('archive'))
    .option('--replace', 'removes the runs that are there; without it a restore over runs is refused')
    .option('--dry-run', 'verifies everything, counts the runs that are there, and changes nothing')
    .option('--yes', 'replaces without asking')
    .addOption(createOption());
  return runsOfCommand(command)
    .addHelpText('after', examples)
    .action((_, invoked: Command) => restore(invoked.optsWithGlobals<RestoreOptions>()));
}

async function restore(options: RestoreOptions): Promise<void> {
  const { directory, output } = options;
  const replace = options.replace === true;
  const effect = 'A restore with --replace removes the runs that are there.';
  if (replace && options.dryRun !== true)
    mustAsk({ yes: options.yes === true, input: process.stdin, effect });
  const of = runsOf(options);
  const progress = newProgress(options);
  await interruptible(leftBy(of), async (signal) => {
    const source = await archiveDirectory(directory);
    const { expectedContentHash } = options;
    const expected = expectedContentHash === undefined ? {} : { expectedContentHash };
    const how = { ...expected, signal, onProgress: progress.show };
    // Verify before the confirmation and before a database is created.
    const checked = await verifyRuns(source, of, how);
    progress.end();
    if (checked.ids.size === 0) warn('The archive holds no such runs.');
    const content = {
      runs: checked.ids.size,
      activeRuns: checked.active,
      ...archiveResult(checked.manifest),
    };
    const from = { directory: resolve(directory), ...content };
    if (options.dryRun === true) {
      const current = await runsThere(options, of);
      printResult(output, { dryRun: true, ...from, current });
      warn('Nothing was changed: this was a dry run.');
      return;
    }
    const use = { verbose: options.verbose === true, create: options.create === true };
    await withStore(options, use, async ({ runs, place }) => {
      const runtime = await runs();
      if (replace && options.yes !== true) await confirm(of, await existingRuns(runtime, of), place, signal);
      await restoreRuns(runtime, source, of, { ...how, replace });
      progress.end();
      printResult(output, { database: place, ...from });
      warn('Start the service now. Where Cloud Tasks delivers, the next reconcile announces the runs.');
    });
  }).finally(() => progress.end());
}

function leftBy(of: RunsOf): string {
  return isAll(of)
    ? 'an archive of all runs was not restored at all; the same command restores the rest of another one'
    : 'the same command restores the rest';
}

async function confirm(of: RunsOf, { runs, active }: ExistingRuns, place: string, signal: AbortSignal) {
  if (runs === 0) return;
  warn(`${place} holds ${runs} runs of ${wordsOf(of)}, ${active} of them active. All of them are removed.`);
  const name = of.tenantId ?? of.productId ?? 'all';
  const question = `Type ${name} to replace them: `;
  await confirmByName({ tenantId: name, question, input: process.stdin, output: process.stderr, signal });
}

/** A missing database holds no runs, where --create makes it. */
async function runsThere(options: RestoreOptions, of: RunsOf): Promise<ExistingRuns> {
  const none = { runs: 0, active: 0 };
  try {
    return await withStore(options, { verbose: options.verbose === true }, async ({ runs }) =>
      existingRuns(await runs(), of),
    );
  } catch (error) {
    const isMissing =
      error instanceof NoStoreError || (error instanceof ToolError && error.exitCode === exitCodes.notFound);
    if (options.create === true && isMissing) return none;
    throw error;
  }
}

const examples = `
Stop the service first: a run that goes on in two databases is executed twice. The command reads the whole archive before it
writes anything. It clears every lease, so a run that a worker held is queued again and the old token is refused. It counts
the active runs again, and it keeps idempotency keys.

An archive of all runs replaces the runs of the database at one moment or not at all. The runs of one tenant or product are
added beside those of others, each run whole; after a kill, the same command goes on where it was.

Examples:
  $ svc runs-archive-restore --directory backups/runs-2026-01-02 --dry-run
  $ svc runs-archive-restore --provider postgresql --connection-string-file db.url --directory runs --create
  $ svc runs-archive-restore --tenant acme --directory backups/acme-runs --replace`;
