import { Command, InvalidArgumentError, Option } from 'commander';
import { limitsOf } from '../functions/compose/quotas.ts';
import { listUse, type OwnersUse, sumOf } from '../functions/quotas/usage-store.ts';
import { type DatabaseOptions, databaseCommand } from './copy-options.ts';
import { jsonText, say, textTable } from './output.ts';
import { withStore } from './store.ts';

interface UsageOptions extends DatabaseOptions {
  readonly over: number;
  readonly limit: number;
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
      .addOption(
        new Option('--limit <count>', 'so many at most').argParser(numberTo(1_000_000)).default(100),
      ),
  )
    .addHelpText('after', examples)
    .action((_, invoked: Command) => list(invoked.optsWithGlobals<UsageOptions>()));
}

async function list({ over, limit, ...options }: UsageOptions): Promise<void> {
  const use = { verbose: options.verbose === true, readOnly: true };
  await withStore(options, use, async ({ store, settings }) => {
    const limitOf = limitsOf(settings);
    const rows = (await listUse(store)).map((each) => rowOf(each, limitOf(each.owner).bytes));
    const shown = rows.filter(({ percent }) => percent >= over).slice(0, limit);
    if (options.output === 'json') say(jsonText(shown));
    else if (shown.length === 0) say('No tenant and no space has stored so much.');
    else say(textTable([headings, ...shown.map((row) => Object.values(row).map(String))]));
  });
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

Examples:
  $ svc usage
  $ svc usage --over 80 --output json`;
