import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { databasePath } from '../functions/compose/database-path.ts';
import { machine } from '../functions/compose/machine.ts';
import { inputOf } from '../functions/config/machine.ts';
import type { Settings } from '../functions/config/table.ts';
import {
  artifactsName,
  countBackups,
  type DataPlaces,
  databaseName,
  makeBackup,
  removeOld,
  verifyBackup,
} from './backup/backup.ts';
import { restoreBackup } from './backup/restore.ts';
import { exitCodes, type OutputForm, outputOption, printResult, ToolError, warn } from './output.ts';
import { printable } from './remote/printable.ts';
import { readStoreSettings } from './store-settings.ts';

interface PlaceOptions {
  readonly settings?: string;
  readonly output: OutputForm;
}

/** `svc backup`: copies the files of an embedded server, also while it runs. */
export function backupCommand(): Command {
  return withPlace(
    new Command('backup'),
    'copies the SQLite database and the artifacts of a server, also while it runs',
  )
    .requiredOption('--directory <folder>', 'where the backup gets a folder of its own, named by the time')
    .addOption(
      new Option('--keep <count>', 'removes older backups of the folder beyond as many').argParser(count),
    )
    .addHelpText('after', examples)
    .action(async ({ directory, keep, ...options }: PlaceOptions & { directory: string; keep?: number }) => {
      const settings = settingsOf(options);
      const places = placesOf(settings);
      if (!existsSync(places.database))
        throw new ToolError(
          `There is nothing to back up: ${places.database} is not there. Check Server:DataDirectory (SVC_DATA_DIR) and --settings.`,
          exitCodes.notFound,
        );
      const folder = await makeBackup(places, directory, new Date(machine.clock.now()));
      // Delete older backups only after the new one was read back and all its bodies are sound: an older one may hold the sound copy.
      const { files } = await verifyBackup(folder);
      const bodies = await bodiesOf(settings, folder);
      const isGood = bodies === 'sound' || bodies === 'not checked';
      if (!isGood) {
        for (const line of keepingLines(bodies, { keep, backups: await countBackups(directory) })) warn(line);
        process.exitCode = exitCodes.failed;
      }
      const removed = keep !== undefined && isGood ? await removeOld(directory, keep, folder) : [];
      const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
      printResult(options.output, {
        directory: folder,
        files: files.length,
        bytes,
        bodies,
        removed: removed.length,
      });
    });
}

type Bodies = 'sound' | 'damaged' | 'not read' | 'not checked';

/** Reads the stored bodies of the backup against their hashes, and names those that are not sound. */
async function bodiesOf(settings: Settings, folder: string): Promise<Bodies> {
  // A backup holds none of the bytes in a bucket.
  if (settings.execution.artifactObjectContainer !== null) return 'not checked';
  const { lookAtBodies } = await import('./doctor/bodies.ts');
  const { checks, verdict } = await lookAtBodies(settingsOver(settings, folder), false);
  for (const { status, message, remedy } of checks)
    if (status === 'failed') warn(printable(`${message} ${remedy ?? ''}`));
  return verdict;
}

/**
 * The next steps after a backup with damaged bodies: `--keep` then deletes nothing, and the disk fills up.
 * @testonly
 */
export function keepingLines(
  bodies: 'damaged' | 'not read',
  { keep, backups }: { readonly keep: number | undefined; readonly backups: number },
): string[] {
  const first =
    bodies === 'damaged'
      ? 'The backup is made and holds these bodies as they are. No older backup was removed.'
      : 'The backup is made, but not all of its bodies could be read, which says nothing about their bytes. No older backup was removed.';
  if (keep === undefined) return [first];
  const until = bodies === 'damaged' ? 'the damaged bodies are mended or deleted' : 'a backup can be read';
  return [
    first,
    `--keep ${keep} removes nothing until ${until}, so that each run adds a backup: there are ${backups}. Remove older ones by hand where the disk fills up, but keep one that was sound.`,
  ];
}

/** The settings of a service whose data folder is the backup. */
function settingsOver(settings: Settings, folder: string): Settings {
  const { canonicalStore, execution } = settings;
  return {
    ...settings,
    canonicalStore: { ...canonicalStore, databasePath: join(folder, databaseName) },
    execution: { ...execution, artifactDirectory: join(folder, artifactsName) },
  };
}

/** `svc backup-verify`: reads a backup to its end. */
export function backupVerifyCommand(): Command {
  return new Command('backup-verify')
    .description('reads such a backup to its end and reports whether it is complete; needs no settings')
    .requiredOption('--directory <folder>', 'the folder of the backup')
    .addOption(outputOption())
    .action(async ({ directory, output }: { directory: string; output: OutputForm }) => {
      const { createdAt, release, files } = await verifyBackup(directory);
      printResult(output, { directory, complete: true, createdAt, release, files: files.length });
    });
}

/** `svc backup-restore`: puts a backup in the place of the data of a stopped server. */
export function backupRestoreCommand(): Command {
  return withPlace(
    new Command('backup-restore'),
    'puts such a backup in the place of the data of a stopped server',
  )
    .requiredOption('--directory <folder>', 'the folder of the backup')
    .option('--replace', 'sets existing data aside under another name')
    .action(
      async ({ directory, replace, ...options }: PlaceOptions & { directory: string; replace?: true }) => {
        const { database, ...places } = placesOf(settingsOf(options));
        const now = new Date(machine.clock.now());
        const done = await restoreBackup(
          directory,
          { ...places, database },
          { replace: replace === true, now },
        );
        printResult(options.output, { database, restored: true, ...done });
      },
    );
}

function withPlace(command: Command, description: string): Command {
  return command
    .description(description)
    .option('--settings <file>', 'the settings of the service')
    .addOption(outputOption());
}

function settingsOf({ settings: file }: PlaceOptions): Settings {
  return readStoreSettings(file === undefined ? {} : { settings: file }, inputOf('embedded', []));
}

/** As the service with these settings would place them. */
function placesOf(settings: Settings): DataPlaces {
  const { provider } = settings.canonicalStore;
  if (provider !== 'sqlite') {
    const message = `The service keeps its data in ${provider}: use the backup of that database, or canonical-archive-export`;
    throw new ToolError(message, exitCodes.usage);
  }
  return { database: databasePath(settings), artifacts: artifactsOf(settings) };
}

function artifactsOf({ execution, service }: Settings): string {
  return resolve(execution.artifactDirectory ?? join(service.dataDirectory, 'artifacts'));
}

function count(text: string): number {
  if (/^[1-9]\d{0,4}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number from 1 to 99999.');
}

const examples = `
The backup is of one moment and holds all tenants, runs, leases and artifacts. It needs free space for a copy, and is readable
by its owner only. Each stored body is read against its hash: where some are damaged or cannot be read, the backup is made all
the same, they are named, --keep removes no older backup, and the exit code is 1. An archive of a tenant (canonical-archive-export) can be restored on every database; a backup restores the
whole server, on SQLite.

Examples:
  $ svc backup --settings /etc/svc/svcsettings.json --directory /var/backups/svc --keep 14
  $ svc backup-verify --directory /var/backups/svc/20260102T030000Z
  $ svc backup-restore --settings /etc/svc/svcsettings.json --directory /var/backups/svc/20260102T030000Z --replace`;
