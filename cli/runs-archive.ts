import { resolve } from 'node:path';
import { Command } from 'commander';
import type { RunsManifest } from '../functions/runs/copies/archive-manifest.ts';
import { exportRuns } from '../functions/runs/copies/export-runs.ts';
import { verifyRuns } from '../functions/runs/copies/restore-runs.ts';
import { archiveDirectory, writeArchiveDirectory } from './archive-directory.ts';
import { newProgress } from './canonical-snapshot.ts';
import { chunkBytesOption, expectedHashOption, pathOption } from './copy-options.ts';
import { interruptible } from './interruption.ts';
import { type OutputForm, outputOption, printResult, warn } from './output.ts';
import {
  archiveResult,
  type RunsOptions,
  runsOf,
  runsOfCommand,
  selectionOptions,
} from './runs-archive-options.ts';
import { withStore } from './store.ts';

interface ExportOptions extends RunsOptions {
  readonly directory: string;
  readonly chunkBytes: number;
}

interface VerifyOptions {
  readonly directory: string;
  readonly tenant?: string;
  readonly product?: string;
  readonly expectedContentHash?: string;
  readonly output: OutputForm;
  readonly verbose?: true;
}

/** `svc runs-archive-export`: writes runs with all that belongs to them as a folder of chunks. */
export function runsArchiveExportCommand(): Command {
  const command = new Command('runs-archive-export')
    .description(
      'writes runs with histories, checkpoints and artifacts, as of one moment, into a folder of chunks',
    )
    .addOption(pathOption('--directory <path>', 'the folder to write into: new, or empty'))
    .addOption(chunkBytesOption());
  return runsOfCommand(command)
    .addHelpText('after', exportExamples)
    .action((_, invoked: Command) => exportArchive(invoked.optsWithGlobals<ExportOptions>()));
}

/** `svc runs-archive-verify`: checks that such a folder is complete and undamaged. Needs no database. */
export function runsArchiveVerifyCommand(): Command {
  const command = new Command('runs-archive-verify')
    .description('checks that an archive of runs is complete and undamaged; needs no database')
    .addOption(pathOption('--directory <path>', 'the folder of the archive'))
    .addOption(expectedHashOption('archive'))
    .addOption(outputOption());
  return selectionOptions(command)
    .addHelpText('after', verifyExamples)
    .action((_, invoked: Command) => verifyArchive(invoked.optsWithGlobals<VerifyOptions>()));
}

async function exportArchive(options: ExportOptions): Promise<void> {
  const { directory, chunkBytes, output } = options;
  const progress = newProgress(options);
  await interruptible('no archive was written', (signal) =>
    withStore(options, { verbose: options.verbose === true }, async ({ runs, place }) => {
      const runtime = await runs();
      const manifest = await writeArchiveDirectory(directory, (sink) =>
        exportRuns(runtime, runsOf(options), sink, { chunkBytes, signal, onProgress: progress.show }),
      );
      progress.end();
      warnOf(manifest);
      printResult(output, { database: place, directory: resolve(directory), ...archiveResult(manifest) });
    }),
  ).finally(() => progress.end());
}

function warnOf({ counts }: RunsManifest): void {
  if (counts.runs === 0) warn('There are no such runs: the archive is empty.');
  const { missingBlobs = 0 } = counts;
  if (missingBlobs > 0)
    warn(
      `The bytes of ${missingBlobs} artifacts were not found, and the archive lacks them. --artifact-directory or --artifact-bucket names their place.`,
    );
}

async function verifyArchive(options: VerifyOptions): Promise<void> {
  const { directory, output, expectedContentHash } = options;
  const progress = newProgress(options);
  const { manifest, ids, active } = await interruptible(
    'the archive was not read to its end',
    async (signal) => {
      const expected = expectedContentHash === undefined ? {} : { expectedContentHash };
      const how = { ...expected, signal, onProgress: progress.show };
      return verifyRuns(await archiveDirectory(directory), runsOf(options), how);
    },
  ).finally(() => progress.end());
  const found = { runs: ids.size, activeRuns: active };
  printResult(output, { directory: resolve(directory), ...found, ...archiveResult(manifest) });
}

const exportExamples = `
The archive holds the runs as of one moment of the database, while the service goes on. Without --tenant and --product it
holds all of them. The bytes of large artifacts are in it. Leases and counters are not: a restored run has no worker.
A folder without manifest.json is an interrupted export and cannot be restored. Keep the printed content hash.

Examples:
  $ svc runs-archive-export --directory backups/runs-2026-01-02
  $ svc runs-archive-export --tenant acme --directory backups/acme-runs
  $ svc runs-archive-export --provider firestore --project my-project --artifact-bucket my-artifacts --directory runs`;

const verifyExamples = `
Examples:
  $ svc runs-archive-verify --directory backups/runs-2026-01-02
  $ svc runs-archive-verify --directory acme-runs --tenant acme --expected-content-hash sha256:…`;
