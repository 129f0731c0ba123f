import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { databasePath } from '../functions/compose/database-path.ts';
import { limitsOf } from '../functions/compose/quotas.ts';
import type { Settings } from '../functions/config/table.ts';
import { listUse, type OwnersUse, sumOf } from '../functions/quotas/usage-store.ts';
import { BACKUP_MANIFEST } from './backup/manifest-name.ts';
import { type DatabaseOptions, databaseCommand } from './copy-options.ts';
import { exitCodes, jsonText, printLine, ToolError, textTable } from './output.ts';
import { filled, type OpenStore, withStore } from './store.ts';

interface UsageOptions extends DatabaseOptions {
  readonly over: number;
  readonly limit: number;
  readonly recount?: string;
}

/** `svc usage`: what tenants and spaces have stored, of what they may. */
export function usageCommand(): Command {
  return databaseCommand(
    new Command('usage')
      .description('lists what tenants and spaces have stored, those with the most bytes first')
      .addOption(
        new Option('--over <percent>', 'only those that have stored so much of what they may')
          .argParser(numberTo(1_000))
          .default(0),
      )
      .addOption(new Option('--limit <count>', 'so many at most').argParser(numberTo(1_000_000)).default(100))
      .addOption(
        new Option(
          '--recount <name>',
          'counts the tenant and the space of this name again, and lists these two',
        ).argParser(filled),
      ),
  )
    .addHelpText('after', examples)
    .action((_, invoked: Command) => list(invoked.optsWithGlobals<UsageOptions>()));
}

async function list({ over, limit, recount: name, ...options }: UsageOptions): Promise<void> {
  const use = { verbose: options.verbose === true, readOnly: name === undefined };
  await withStore(options, use, async (opened) => {
    const { store, settings } = opened;
    if (name !== undefined) {
      refuseBackup(settings);
      await countAgain(opened, name);
    }
    const limitOf = limitsOf(settings);
    const wanted = (await listUse(store)).filter(({ owner }) => name === undefined || owner.name === name);
    const rows = wanted.map((each) => rowOf(each, limitOf(each.owner).bytes));
    const shown = rows.filter(({ percent }) => percent >= over).slice(0, limit);
    if (options.output === 'json') printLine(jsonText(shown));
    else if (shown.length === 0)
      printLine(
        name === undefined
          ? 'No tenant and no space has stored so much.'
          : `Nothing is stored under the name ${name}.`,
      );
    else printLine(textTable([headings, ...shown.map((row) => Object.values(row).map(String))]));
  });
}

/** The files of a backup are bound by its manifest: a count written into one makes it worthless. */
function refuseBackup(settings: Settings): void {
  const { provider } = settings.canonicalStore;
  if (provider !== 'sqlite') return;
  const folder = dirname(databasePath(settings));
  if (!existsSync(join(folder, BACKUP_MANIFEST))) return;
  throw new ToolError(
    `${folder} is a backup: --recount would change it. Restore it, and count there.`,
    exitCodes.usage,
  );
}

async function countAgain({ store, runs }: OpenStore, name: string): Promise<void> {
  // Loads every group, which other commands need not wait for.
  const [{ declaredCollections }, { recount }, { executionCollections }] = await Promise.all([
    import('../functions/compose/collections.ts'),
    import('../functions/quotas/recount.ts'),
    import('../functions/runs/records.ts'),
  ]);
  const { scope } = await runs();
  const ofRuns = { scope, collections: namesOf(executionCollections) };
  for (const kind of ['tenants', 'spaces'] as const)
    await recount(store, { kind, name }, namesOf(declaredCollections), ofRuns);
}

function namesOf(collections: readonly { readonly name: string }[]): string[] {
  return [...new Set(collections.map((each) => each.name))].sort();
}

const headings = ['owner', 'name', 'used', 'of runs', 'limit', 'percent'];

function rowOf({ owner, use }: OwnersUse, limit: number) {
  const used = sumOf(use);
  const percent = Math.floor((100 * used) / limit);
  const kind = owner.kind === 'tenants' ? 'tenant' : 'space';
  return { owner: kind, name: owner.name, used, ofRuns: Math.max(0, use.runs), limit, percent };
}

function numberTo(most: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (!(number <= most)) throw new InvalidArgumentError(`It must be a whole number from 0 to ${most}.`);
    return number;
  };
}

const examples = `
Counted are the records of tenants and spaces with their texts, history, vectors and bytes outside of the database, as
processes have added them: each does so every 20 seconds. Data of releases before 0.6.0 is not counted.

A process that was killed has lost what it had not added: up to 8 MiB of each owner. --recount reads all records of the owner and
all runs, and corrects its count. Use it while the owner is not written.

Examples:
  $ svc usage
  $ svc usage --recount acme
  $ svc usage --over 80 --output json`;
