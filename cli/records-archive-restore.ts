import { resolve } from 'node:path';
import { Command } from 'commander';
import { type ScannedStore, tallySpace } from '../functions/collections/copies/export-space.ts';
import { restoreSpace, verifySpace } from '../functions/collections/copies/restore-space.ts';
import { EntryVersions } from '../functions/collections/entry-versions.ts';
import { entryFormats } from '../functions/collections/search/formats.ts';
import { spaceScope } from '../functions/collections/store-collections.ts';
import { machine } from '../functions/compose/machine.ts';
import { DEFAULT_SPACE } from '../functions/identity/record-access.ts';
import { archiveDirectory } from './archive-directory.ts';
import { newProgress } from './canonical-snapshot.ts';
import { confirmByName, mustAsk } from './confirm.ts';
import {
  createOption,
  type DatabaseOptions,
  databaseCommand,
  expectedHashOption,
  pathOption,
} from './copy-options.ts';
import { restoreFailure } from './failures.ts';
import { interruptible } from './interruption.ts';
import { printResult, resultText, tryPrint, warn } from './output.ts';
import type { ProgressLine } from './progress.ts';
import { archiveResult, expected, spaceOption } from './records-archive-options.ts';
import { sweepScope } from './replacement.ts';
import { withStore, withStoreToRead } from './store.ts';

interface RestoreOptions extends DatabaseOptions {
  readonly space: string;
  readonly directory: string;
  readonly expectedContentHash?: string;
  readonly replace?: true;
  readonly dryRun?: true;
  readonly yes?: true;
  readonly create?: true;
}

/** `svc records-archive-restore`: replaces a space by the content of such a folder. */
export function recordsArchiveRestoreCommand(): Command {
  const command = new Command('records-archive-restore')
    .description('restores the collections and records of a space, at one moment or not at all')
    .addOption(pathOption('--directory <path>', 'the folder of the archive'))
    .addOption(spaceOption('the space, which must be that of the archive').default(DEFAULT_SPACE))
    .addOption(expectedHashOption('archive'))
    .option('--replace', 'replaces all that the space has; without it a restore over collections is refused')
    .option('--dry-run', 'verifies everything, shows the content that would be replaced, and changes nothing')
    .option('--yes', 'replaces without asking')
    .addOption(createOption());
  return databaseCommand(command)
    .addHelpText('after', examples)
    .action((_, invoked: Command) => restore(invoked.optsWithGlobals<RestoreOptions>()));
}

async function restore(options: RestoreOptions): Promise<void> {
  const { space, directory, output, replace = false } = options;
  const effect = 'A restore with --replace replaces all that the space has.';
  if (replace && options.dryRun !== true)
    mustAsk({ yes: options.yes === true, input: process.stdin, effect });
  const progress = newProgress(options);
  let begun = false;
  await interruptible('nothing was replaced', async (signal) => {
    const source = await archiveDirectory(directory);
    const how = { ...expected(options), signal, onProgress: progress.show };
    // Verify before the confirmation and before a database is created.
    const manifest = await verifySpace(source, space, how);
    progress.end();
    const result = { space, directory: resolve(directory), ...archiveResult(manifest) };
    const use = { verbose: options.verbose === true, create: options.create === true };
    const parts = { space, progress, signal };
    if (options.dryRun === true)
      return withStoreToRead(options, use, async (opened) => {
        const current = await currentContent(opened, parts);
        printResult(output, { dryRun: true, database: opened.place, ...result, current });
        warn('Nothing was changed: this was a dry run.');
      });
    await withStore(options, use, async ({ store, place }) => {
      if (replace && options.yes !== true) await confirm(store, place, parts);
      begun = true;
      const entries = new EntryVersions(() => Promise.resolve(store), machine.clock, entryFormats);
      await restoreSpace(store, source, space, { ...how, replace, format: await entries.written() });
      progress.end();
      if (!(await tryPrint(resultText(output, { database: place, ...result }))))
        warn(`The space ${space} was restored. Only the result could not be printed.`);
      await sweepScope(store, spaceScope(space), { progress, signal });
    });
  })
    .catch((error: unknown) => {
      throw restoreFailure(error, begun, 'space');
    })
    .finally(() => progress.end());
}

interface Parts {
  readonly space: string;
  readonly progress: ProgressLine;
  readonly signal: AbortSignal;
}

async function currentContent(store: ScannedStore, { space, progress, signal }: Parts) {
  const tally = await tallySpace(store, space, { signal, onProgress: progress.show });
  progress.end();
  return { counts: tally.counts, contentHash: tally.contentHash() };
}

/** An empty space has nothing that the restore could replace. */
async function confirm(store: ScannedStore, place: string, parts: Parts): Promise<void> {
  const { space, signal } = parts;
  const current = await currentContent(store, parts);
  if (current.counts.policies === 0) return;
  warn(resultText('table', { space, database: place, ...current }));
  const question = 'Type the name of the space to replace all that it has: ';
  await confirmByName({ tenantId: space, question, input: process.stdin, output: process.stderr, signal });
}

const examples = `
The command reads the archive twice: once to verify all of it, and again to load it beside the present content of the space.
Then it replaces that content in one atomic step: every reader sees the old collections or the new ones. Collections that
the archive lacks are gone. Revisions and times of records are those of the archive. Other spaces, tenants and runs are not
touched. A refused or interrupted restore leaves the space unchanged.

Examples:
  $ svc records-archive-restore --directory backups/records-2026-01-02 --dry-run
  $ svc records-archive-restore --directory backups/records-2026-01-02 --replace
  $ svc records-archive-restore --space research --directory research --expected-content-hash sha256:… --replace --yes
  $ svc records-archive-restore --provider postgresql --connection-string-file db.url --directory records --create`;
