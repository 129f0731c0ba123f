import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import {
  type DeletionReceipt,
  deleteTenant,
  forgetDeletion,
  inventoryOf,
  type TenantInventory,
} from '../functions/compose/delete-tenant.ts';
import { machine } from '../functions/compose/machine.ts';
import { existingRuns } from '../functions/runs/copies/restore-runs.ts';
import type { Runtime } from '../functions/runs/runtime.ts';
import { newProgress } from './canonical-snapshot.ts';
import { confirmByName, mustAsk } from './confirm.ts';
import { databaseCommand, pathOption, type TenantOptions } from './copy-options.ts';
import { interruptible } from './interruption.ts';
import { jsonText, printResult, resultText, warn } from './output.ts';
import type { ProgressLine } from './progress.ts';
import { artifactOptions, scopeName } from './runs-archive-options.ts';
import { checkTarget, writeWhole } from './snapshot-file.ts';
import { type OpenStore, withStore } from './store.ts';

interface DeleteOptions extends TenantOptions {
  readonly receipt: string;
  readonly cancelRuns?: true;
  readonly dryRun?: true;
  readonly yes?: true;
}

/** `svc tenant-delete`: deletes all that a tenant has, and writes a receipt. */
export function tenantDeleteCommand(): Command {
  const command = new Command('tenant-delete')
    .description('deletes all that a tenant has, records and runs, and writes a receipt')
    // Runs take names that no route of the canonical store can carry.
    .addOption(new Option('--tenant <id>', 'the tenant').argParser(scopeName).makeOptionMandatory())
    .addOption(pathOption('--receipt <path>', 'the file to write the receipt into: new'))
    .option('--cancel-runs', 'cancels active runs; without it they are a reason to refuse')
    .option('--dry-run', 'counts what the tenant has, and changes nothing')
    .option('--yes', 'deletes without asking');
  return artifactOptions(databaseCommand(command))
    .addHelpText('after', examples)
    .action((_, invoked: Command) => deleteOne(invoked.optsWithGlobals<DeleteOptions>()));
}

async function deleteOne(options: DeleteOptions): Promise<void> {
  const { tenant, receipt, output, dryRun = false, yes = false } = options;
  const effect = 'This deletes all that the tenant has, for ever.';
  if (!dryRun) mustAsk({ yes, input: process.stdin, effect });
  await checkTarget(receipt, false);
  const progress = newProgress(options);
  const left = 'some of the tenant is deleted; the same command deletes the rest';
  await interruptible(dryRun ? 'nothing was changed' : left, (signal) =>
    withStore(options, { verbose: options.verbose === true }, async (opened) => {
      const runtime = await opened.runs();
      const parts = { runtime, tenant, progress, signal };
      if (dryRun) return printPlan(options, opened, parts);
      if (!yes) await confirm(opened, parts);
      const done = await deleteTenant(runtime, tenant, opened.place, {
        cancelRuns: options.cancelRuns === true,
        signal,
        onProgress: progress.show,
      });
      progress.end();
      await writeReceipt(receipt, done);
      await forgetDeletion(runtime, tenant);
      printResult(output, { receipt: resolve(receipt), ...done });
      if (opened.store.provider === 'firestore')
        warn('Content that a restore has replaced rests for an hour: run canonical-sweep after that.');
    }),
  ).finally(() => progress.end());
}

interface Parts {
  readonly runtime: Runtime;
  readonly tenant: string;
  readonly progress: ProgressLine;
  readonly signal: AbortSignal;
}

async function planOf({
  runtime,
  tenant,
  progress,
  signal,
}: Parts): Promise<TenantInventory & { activeRuns: number }> {
  const inventory = await inventoryOf(runtime, tenant, { signal, onProgress: progress.show });
  const { active } = await existingRuns(runtime, { tenantId: tenant, productId: null });
  progress.end();
  return { ...inventory, activeRuns: active };
}

async function printPlan({ output }: DeleteOptions, { place }: OpenStore, parts: Parts): Promise<void> {
  printResult(output, { dryRun: true, tenantId: parts.tenant, database: place, ...(await planOf(parts)) });
  warn('Nothing was changed: this was a dry run.');
}

async function confirm({ place }: OpenStore, parts: Parts): Promise<void> {
  const { tenant, signal } = parts;
  warn(resultText('table', { tenantId: tenant, database: place, ...(await planOf(parts)) }));
  await confirmByName({
    tenantId: tenant,
    question: 'Type the name of the tenant to delete all that it has, for ever: ',
    kept: 'nothing was deleted',
    input: process.stdin,
    output: process.stderr,
    signal,
  });
}

async function writeReceipt(path: string, receipt: DeletionReceipt): Promise<void> {
  await writeWhole(path, [jsonText(receipt), '\n'], { force: false, random: machine.random });
}

const examples = `
First take the tenant out of the access policies, so that no caller writes for it, and archive it if its data may be needed.
The command deletes documents, revisions, receipts, fences, outbox events, runs, histories, checkpoints, artifacts with
their bytes, idempotency keys and counters. Other tenants and the migration ledger are not touched.

Each step is one bounded transaction. After a kill or a signal, the same command deletes the rest and writes the receipt of
the whole deletion: the counts and hashes that the tenant had when it began, which are those of archives made then.

Examples:
  $ svc tenant-delete --tenant acme --receipt acme-deleted.json --dry-run
  $ svc tenant-delete --tenant acme --receipt acme-deleted.json --cancel-runs
  $ svc tenant-delete --provider firestore --project my-project --tenant acme --receipt acme.json --yes`;
