import { resolve } from 'node:path';
import { Command } from 'commander';
import { machine } from '../functions/compose/machine.ts';
import type { SnapshotCounts } from '../functions/groups/canonical/copies/snapshot/lines.ts';
import { readSnapshot, type TenantSnapshot } from '../functions/groups/canonical/copies/snapshot/snapshot.ts';
import { exportTenant, restoreTenant } from '../functions/groups/canonical/copies/tenant-copies.ts';
import { mustAsk } from './confirm.ts';
import {
  pathOption,
  type RestoreOptions,
  restoreCommand,
  type TenantOptions,
  tenantCommand,
} from './copy-options.ts';
import { restoreFailure } from './failures.ts';
import { interruptible } from './interruption.ts';
import { printLine, resultText, warn } from './output.ts';
import { ProgressLine } from './progress.ts';
import { confirmReplacement, printPlan, printReplaced, sweepBehind } from './replacement.ts';
import { checkTarget, readSnapshotFile, snapshotText, writeStream, writeWhole } from './snapshot-file.ts';
import { withStore, withStoreToRead } from './store.ts';

interface ExportOptions extends TenantOptions {
  readonly file: string;
  readonly force?: true;
}

interface SnapshotRestoreOptions extends RestoreOptions {
  readonly file: string;
}

/** `svc canonical-export`: writes a tenant as one JSON file. */
export function canonicalExportCommand(): Command {
  const command = new Command('canonical-export')
    .description('writes a tenant, as of one moment, into one JSON file of at most 64 MiB of content')
    .addOption(pathOption('--file <path>', 'the file to write; - is standard output'))
    .option('--force', 'replaces an existing file');
  return tenantCommand(command)
    .addHelpText('after', exportExamples)
    .action((_, invoked: Command) => exportSnapshot(invoked.optsWithGlobals<ExportOptions>()));
}

/** `svc canonical-restore`: replaces a tenant with the content of such a file. */
export function canonicalRestoreCommand(): Command {
  const command = new Command('canonical-restore')
    .description('replaces all that a tenant has by a JSON snapshot of it, at one moment or not at all')
    .addOption(pathOption('--file <path>', 'the snapshot; - is standard input'));
  return restoreCommand(command, 'content')
    .addHelpText('after', restoreExamples)
    .action((_, invoked: Command) => restoreSnapshot(invoked.optsWithGlobals<SnapshotRestoreOptions>()));
}

async function exportSnapshot(options: ExportOptions): Promise<void> {
  const { tenant, file, force = false, output } = options;
  if (file !== '-') await checkTarget(file, force);
  const after = file === '-' ? 'the output may be cut short' : 'no file was written';
  const result = await interruptible(after, (signal) =>
    withStore(options, { verbose: options.verbose === true }, async ({ store, place, isGone }) => {
      const now = machine.clock.now();
      const snapshot = await exportTenant(store, tenant, { now, isGone, signal });
      const parts = snapshotText(snapshot);
      if (file === '-') await writeStream(process.stdout, parts, signal);
      else await writeWhole(file, parts, { force, random: machine.random, signal });
      const counts = countsOf(snapshot);
      warnIfEmpty(tenant, counts);
      const { contentHash } = snapshot;
      return { tenantId: tenant, database: place, file: fileName(file), counts, contentHash };
    }),
  );
  // Standard output then holds the snapshot and nothing else.
  if (file === '-') warn(resultText(output, result));
  else printLine(resultText(output, result));
}

async function restoreSnapshot(options: SnapshotRestoreOptions): Promise<void> {
  const { tenant, file, expectedContentHash, output } = options;
  if (options.dryRun !== true) mustAsk({ yes: options.yes === true, input: process.stdin });
  let begun = false;
  await interruptible('nothing was replaced', async (signal) => {
    const snapshot = await readSnapshotFile(file, process.stdin);
    // Read the snapshot before a database is opened and before the confirmation.
    const { contentHash } = readSnapshot(tenant, snapshot, expectedContentHash ?? null);
    const counts = countsOf(snapshot as unknown as TenantSnapshot);
    const use = { verbose: options.verbose === true, create: options.create === true };
    const progress = newProgress(options);
    const parts = { tenantId: tenant, next: { counts, contentHash }, progress, signal };
    if (options.dryRun === true) {
      const from = { file: fileName(file) };
      return withStoreToRead(options, use, (opened) => printPlan(output, from, { ...parts, opened }));
    }
    await withStore(options, use, async (opened) => {
      if (options.yes !== true) await confirmReplacement({ ...parts, opened });
      begun = true;
      await restoreTenant(opened.store, tenant, snapshot, { expectedContentHash: contentHash, signal });
      const { place } = opened;
      await printReplaced(output, {
        tenantId: tenant,
        database: place,
        file: fileName(file),
        counts,
        contentHash,
      });
      await sweepBehind({ opened, tenantId: tenant, progress, signal });
    });
  }).catch((error: unknown) => {
    throw restoreFailure(error, begun);
  });
}

/** The counts in the form of an archive. */
function countsOf({ documents, fences, outbox, transactions }: TenantSnapshot): SnapshotCounts {
  return {
    commits: transactions.length,
    documents: documents.length,
    events: outbox.length,
    fences: fences.length,
  };
}

/** The export of an unknown tenant is empty, so a misspelt tenant id would look like a success. */
export function warnIfEmpty(tenantId: string, counts: SnapshotCounts): void {
  if (Object.values(counts).some((count) => count > 0)) return;
  warn(`WARNING: the tenant ${tenantId} holds nothing. Is its name right, and the database?`);
}

export function newProgress({ verbose }: Pick<TenantOptions, 'verbose'>): ProgressLine {
  return new ProgressLine({ stream: process.stderr, clock: machine.clock, verbose: verbose === true });
}

function fileName(file: string): string {
  return file === '-' ? file : resolve(file);
}

const exportExamples = `
The file holds documents with their revisions, fences, outbox events and idempotency receipts, one record per line, and
no leases. The file appears only when it is complete, and only its owner may read it. A tenant of more than
64 MiB goes into an archive: canonical-archive-export.

Examples:
  $ svc canonical-export --tenant acme --file acme.json
  $ svc canonical-export --canonical-db /var/lib/svc/svc.canonical.sqlite --tenant acme --file acme.json
  $ svc canonical-export --provider postgresql --connection-string-file db.url --tenant acme --file acme.json
  $ svc canonical-export --provider firestore --project my-project --tenant acme --file - | gzip > acme.json.gz`;

const restoreExamples = `
The command replaces the whole content of the tenant in one atomic step: documents, revisions, fences, outbox events and idempotency
receipts. Keys used since the export are free again, events delivered since then are pending again, and every lease ends.
Other tenants and the migration ledger are not touched. On a terminal the command asks for the tenant's name; elsewhere it
needs --yes. A refused or interrupted restore leaves the tenant unchanged.

Examples:
  $ svc canonical-restore --tenant acme --file acme.json --dry-run
  $ svc canonical-restore --tenant acme --file acme.json
  $ svc canonical-restore --tenant acme --file acme.json --expected-content-hash sha256:… --yes
  $ svc canonical-restore --canonical-db new.canonical.sqlite --create --tenant acme --file acme.json --yes`;
