import { resolve } from 'node:path';
import { Command } from 'commander';
import { MANIFEST_BYTES_MAX, MANIFEST_NAME } from '../functions/archives/chunk-list.ts';
import { SnapshotError } from '../functions/archives/snapshot-error.ts';
import { machine } from '../functions/compose/machine.ts';
import type { ChunkSource } from '../functions/groups/canonical/copies/snapshot/archive.ts';
import { type ArchiveManifest } from '../functions/groups/canonical/copies/snapshot/manifest.ts';
import {
  exportTenantArchive,
  restoreTenantArchive,
  verifyTenantArchive,
} from '../functions/groups/canonical/copies/tenant-archives.ts';
import { archiveDirectory, writeArchiveDirectory } from './archive-directory.ts';
import { newProgress, warnIfEmpty } from './canonical-snapshot.ts';
import { mustAsk } from './confirm.ts';
import {
  chunkBytesOption,
  expectedHashOption,
  pathOption,
  type RestoreOptions,
  restoreCommand,
  type TenantOptions,
  tenantCommand,
  tenantOption,
} from './copy-options.ts';
import { restoreFailure } from './failures.ts';
import { interruptible } from './interruption.ts';
import { outputOption, printResult } from './output.ts';
import {
  confirmReplacement,
  printPlan,
  printReplaced,
  sweepBehind,
  type TenantContent,
} from './replacement.ts';
import { withStore, withStoreToRead } from './store.ts';

interface ArchiveExportOptions extends TenantOptions {
  readonly directory: string;
  readonly chunkBytes: number;
}

interface ArchiveRestoreOptions extends RestoreOptions {
  readonly directory: string;
}

type VerifyOptions = Pick<
  ArchiveRestoreOptions,
  'directory' | 'expectedContentHash' | 'output' | 'verbose'
> & {
  readonly tenant?: string;
};

/** `svc canonical-archive-export`: writes a tenant of any size as a folder of chunks. */
export function canonicalArchiveExportCommand(): Command {
  const command = new Command('canonical-archive-export')
    .description('writes a tenant of any size, as of one moment, into a folder of compressed chunks')
    .addOption(pathOption('--directory <path>', 'the folder to write into: new, or empty'))
    .addOption(chunkBytesOption());
  return tenantCommand(command)
    .addHelpText('after', exportExamples)
    .action((_, invoked: Command) => exportArchive(invoked.optsWithGlobals<ArchiveExportOptions>()));
}

/** `svc canonical-archive-restore`: replaces a tenant with the content of such a folder. */
export function canonicalArchiveRestoreCommand(): Command {
  const command = new Command('canonical-archive-restore')
    .description('replaces all that a tenant has by an archive of it, at one moment or not at all')
    .addOption(pathOption('--directory <path>', 'the folder of the archive'));
  return restoreCommand(command, 'archive')
    .addHelpText('after', restoreExamples)
    .action((_, invoked: Command) => restoreArchive(invoked.optsWithGlobals<ArchiveRestoreOptions>()));
}

/** `svc canonical-archive-verify`: checks that such a folder is complete and undamaged. Needs no database. */
export function canonicalArchiveVerifyCommand(): Command {
  return new Command('canonical-archive-verify')
    .description('checks that an archive is complete and undamaged; needs no database')
    .addOption(pathOption('--directory <path>', 'the folder of the archive'))
    .addOption(tenantOption())
    .addOption(expectedHashOption('archive'))
    .addOption(outputOption())
    .addHelpText('after', verifyExamples)
    .action((_, invoked: Command) => verifyArchive(invoked.optsWithGlobals<VerifyOptions>()));
}

async function exportArchive(options: ArchiveExportOptions): Promise<void> {
  const { tenant, directory, chunkBytes, output } = options;
  const progress = newProgress(options);
  await interruptible('no archive was written', (signal) =>
    withStore(options, { verbose: options.verbose === true }, async ({ store, place, isGone }) => {
      const how = { now: machine.clock.now(), isGone, chunkBytes, signal, onProgress: progress.show };
      const manifest = await writeArchiveDirectory(directory, (sink) =>
        exportTenantArchive(store, tenant, sink, how),
      );
      progress.end();
      warnIfEmpty(tenant, manifest.counts);
      printResult(output, { tenantId: tenant, database: place, ...archiveResult(directory, manifest) });
    }),
  ).finally(() => progress.end());
}

async function restoreArchive(options: ArchiveRestoreOptions): Promise<void> {
  const { tenant, directory, output } = options;
  const asking = options.dryRun === true || mustAsk({ yes: options.yes === true, input: process.stdin });
  const create = options.create === true;
  const progress = newProgress(options);
  let begun = false;
  await interruptible('nothing was replaced', async (signal) => {
    const source = await archiveDirectory(directory);
    const how = { ...expected(options), signal, onProgress: progress.show };
    // Verify before the confirmation and before a database is created.
    const next = asking || create ? contentOf(await verifyTenantArchive(tenant, source, how)) : null;
    const use = { verbose: options.verbose === true, create };
    const parts = { tenantId: tenant, progress, signal };
    if (options.dryRun === true && next !== null) {
      const from = { directory: resolve(directory) };
      return withStoreToRead(options, use, (opened) => printPlan(output, from, { ...parts, next, opened }));
    }
    await withStore(options, use, async (opened) => {
      if (options.yes !== true && next !== null) await confirmReplacement({ ...parts, next, opened });
      begun = true;
      const manifest = await restoreTenantArchive(opened.store, tenant, source, how);
      progress.end();
      const { place } = opened;
      await printReplaced(output, {
        tenantId: tenant,
        database: place,
        ...archiveResult(directory, manifest),
      });
      await sweepBehind({ opened, tenantId: tenant, progress, signal });
    });
  })
    .catch((error: unknown) => {
      throw restoreFailure(error, begun);
    })
    .finally(() => progress.end());
}

function contentOf({ counts, snapshotContentHash }: ArchiveManifest): TenantContent {
  return { counts, contentHash: snapshotContentHash };
}

async function verifyArchive(options: VerifyOptions): Promise<void> {
  const { directory, output } = options;
  const progress = newProgress(options);
  const manifest = await interruptible('the archive was not read to its end', async (signal) => {
    const source = await archiveDirectory(directory);
    const tenant = options.tenant ?? (await tenantOf(source));
    return verifyTenantArchive(tenant, source, { ...expected(options), signal, onProgress: progress.show });
  }).finally(() => progress.end());
  printResult(output, { tenantId: manifest.tenantId, ...archiveResult(directory, manifest) });
}

/** The tenant that the manifest names; reading it also validates the manifest. */
async function tenantOf(source: ChunkSource): Promise<string> {
  const bytes = await source.read(MANIFEST_NAME, MANIFEST_BYTES_MAX);
  if (bytes === null) throw new SnapshotError('incomplete', 'is missing', { object: MANIFEST_NAME });
  let tenantId: unknown;
  try {
    ({ tenantId } = JSON.parse(Buffer.from(bytes).toString('utf8')) as { readonly tenantId?: unknown });
  } catch {
    // The manifest reader reports the fault.
  }
  return typeof tenantId === 'string' ? tenantId : '';
}

function expected({ expectedContentHash }: Pick<VerifyOptions, 'expectedContentHash'>) {
  return expectedContentHash === undefined ? {} : { expectedContentHash };
}

function archiveResult(directory: string, manifest: ArchiveManifest) {
  const { counts, chunks, snapshotContentHash, contentHash } = manifest;
  const storedBytes = chunks.reduce((sum, { bytes }) => sum + bytes, 0);
  return {
    directory: resolve(directory),
    counts,
    chunks: chunks.length,
    storedBytes,
    snapshotContentHash,
    contentHash,
  };
}

const exportExamples = `
The folder gets chunk-000000.bin, chunk-000001.bin …, and at the end manifest.json with the hash of each: an export that was
interrupted has no manifest and cannot be restored. The command holds a few chunks in memory, for a tenant of any size.
Keep the printed content hash: it distinguishes this archive from every other one.

Examples:
  $ svc canonical-archive-export --tenant acme --directory backups/acme-2026-01-02
  $ svc canonical-archive-export --provider mysql --connection-string-file db.url --tenant acme --directory acme
  $ svc canonical-archive-export --provider firestore --project my-project --tenant acme --directory acme --output json`;

const restoreExamples = `
The command reads the archive twice: once to verify all of it, and again to load it beside the tenant's current content.
Then it replaces that content in one atomic step: documents, revisions, fences, outbox events and idempotency
receipts. Keys used since the export are free again, events delivered since then are pending again, and every lease ends.
Other tenants and the migration ledger are not touched. On a terminal the command asks for the tenant's name; elsewhere it
needs --yes. A refused or interrupted restore leaves the tenant unchanged.

Examples:
  $ svc canonical-archive-restore --tenant acme --directory backups/acme-2026-01-02 --dry-run
  $ svc canonical-archive-restore --tenant acme --directory backups/acme-2026-01-02
  $ svc canonical-archive-restore --tenant acme --directory acme --expected-content-hash sha256:… --yes
  $ svc canonical-archive-restore --provider postgresql --connection-string-file db.url --tenant acme --directory acme --create`;

const verifyExamples = `
Without --tenant the command takes the tenant that the archive names. It never prints the content of an archive.

Examples:
  $ svc canonical-archive-verify --directory backups/acme-2026-01-02
  $ svc canonical-archive-verify --directory acme --tenant acme --expected-content-hash sha256:…`;
