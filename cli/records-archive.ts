import { resolve } from 'node:path';
import { Command } from 'commander';
import { exportSpace } from '../functions/collections/copies/export-space.ts';
import { verifySpace } from '../functions/collections/copies/restore-space.ts';
import { hasObjects } from '../functions/collections/copies/space-objects.ts';
import { DEFAULT_SPACE } from '../functions/identity/record-access.ts';
import { archiveDirectory, writeArchiveDirectory } from './archive-directory.ts';
import { newProgress } from './canonical-snapshot.ts';
import {
  chunkBytesOption,
  type DatabaseOptions,
  databaseCommand,
  expectedHashOption,
  pathOption,
} from './copy-options.ts';
import { interruptible } from './interruption.ts';
import { type OutputForm, outputOption, printResult, warn } from './output.ts';
import { archiveResult, expected, spaceOption } from './records-archive-options.ts';
import { withStore } from './store.ts';

interface ExportOptions extends DatabaseOptions {
  readonly space: string;
  readonly directory: string;
  readonly chunkBytes: number;
}

interface VerifyOptions {
  readonly directory: string;
  readonly space?: string;
  readonly expectedContentHash?: string;
  readonly output: OutputForm;
  readonly verbose?: true;
}

/** `svc records-archive-export`: writes the collections and records of a space as a folder of chunks. */
export function recordsArchiveExportCommand(): Command {
  const command = new Command('records-archive-export')
    .description('writes the collections and records of a space, as of one moment, into a folder of chunks')
    .addOption(pathOption('--directory <path>', 'the folder to write into: new, or empty'))
    .addOption(spaceOption('the space').default(DEFAULT_SPACE))
    .addOption(chunkBytesOption());
  return databaseCommand(command)
    .addHelpText('after', exportExamples)
    .action((_, invoked: Command) => exportArchive(invoked.optsWithGlobals<ExportOptions>()));
}

/** `svc records-archive-verify`: checks that such a folder is complete and undamaged. Needs no database. */
export function recordsArchiveVerifyCommand(): Command {
  return new Command('records-archive-verify')
    .description('checks that an archive of a space is complete and undamaged; needs no database')
    .addOption(pathOption('--directory <path>', 'the folder of the archive'))
    .addOption(spaceOption('refuses the archive of any other space'))
    .addOption(expectedHashOption('archive'))
    .addOption(outputOption())
    .addHelpText('after', verifyExamples)
    .action((_, invoked: Command) => verifyArchive(invoked.optsWithGlobals<VerifyOptions>()));
}

async function exportArchive(options: ExportOptions): Promise<void> {
  const { space, directory, chunkBytes, output } = options;
  const progress = newProgress(options);
  await interruptible('no archive was written', (signal) =>
    withStore(options, { verbose: options.verbose === true }, async ({ store, place }) => {
      const manifest = await writeArchiveDirectory(directory, (sink) =>
        exportSpace(store, space, sink, { chunkBytes, signal, onProgress: progress.show }),
      );
      progress.end();
      if (manifest.counts.policies === 0)
        warn(`WARNING: the space ${space} has no collections. Is its name right, and the database?`);
      if (await hasObjects(store, space))
        warn(`WARNING: the space ${space} has objects, which the archive does not hold.`);
      printResult(output, {
        space,
        database: place,
        directory: resolve(directory),
        ...archiveResult(manifest),
      });
    }),
  ).finally(() => progress.end());
}

async function verifyArchive(options: VerifyOptions): Promise<void> {
  const { directory, output, space = null } = options;
  const progress = newProgress(options);
  const manifest = await interruptible('the archive was not read to its end', async (signal) => {
    const how = { ...expected(options), signal, onProgress: progress.show };
    return verifySpace(await archiveDirectory(directory), space, how);
  }).finally(() => progress.end());
  printResult(output, { space: manifest.space, directory: resolve(directory), ...archiveResult(manifest) });
}

const exportExamples = `
The archive holds every collection of the space with its policy and its records, as of one moment of the database, while the
service goes on. It holds no objects, and no jobs: runs-archive-export writes those. A folder without manifest.json is an
interrupted export and cannot be restored. Keep the printed content hash: it distinguishes this archive from every other one.

Examples:
  $ svc records-archive-export --directory backups/records-2026-01-02
  $ svc records-archive-export --space research --directory backups/research
  $ svc records-archive-export --provider firestore --project my-project --directory records --output json`;

const verifyExamples = `
Without --space the command takes the space that the archive names. It never prints the content of an archive.

Examples:
  $ svc records-archive-verify --directory backups/records-2026-01-02
  $ svc records-archive-verify --directory research --space research --expected-content-hash sha256:…`;
