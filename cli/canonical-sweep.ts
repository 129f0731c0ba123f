import { Command } from 'commander';
import type { RecordStore } from '../functions/store/port.ts';
import { type DatabaseOptions, databaseCommand } from './copy-options.ts';
import { interruptible } from './interruption.ts';
import { sayResult } from './output.ts';
import { withStore } from './store.ts';

/** `svc canonical-sweep`: deletes what restores have replaced and what loads that died have left. */
export function canonicalSweepCommand(): Command {
  return databaseCommand(
    new Command('canonical-sweep').description(
      'deletes what restores have replaced, and what dead ones left',
    ),
  )
    .addHelpText('after', examples)
    .action((_, invoked: Command) => sweep(invoked.optsWithGlobals<DatabaseOptions>()));
}

async function sweep(options: DatabaseOptions): Promise<void> {
  await interruptible('what was not deleted yet is left to the next sweep', (signal) =>
    withStore(options, { verbose: options.verbose === true }, async ({ store, place }) => {
      // Closing the store ends the sweep.
      await Promise.race([store.sweep(), aborted(signal)]);
      sayResult(options.output, { database: place, swept: true, left: leftBy(store) });
    }),
  );
}

/** What a sweep never touches. How much it deleted says little: opening a SQL database has swept most of it already. */
function leftBy({ provider }: RecordStore): string {
  return provider === 'firestore'
    ? 'what was replaced, or written by a restore that did not end, less than an hour ago'
    : 'what a restore that did not end wrote less than an hour ago';
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}

const examples = `
A restore loads the new content beside the old one. On SQL databases what it replaced is deleted behind it, and by every
process that opens the database. On Firestore it rests for an hour, because a reader elsewhere may still know it, and then
goes with the next restore of the same tenant, or with this command: run it once a day there. A restore that was killed is
taken for dead after an hour without a write. Nothing that any reader can see is ever deleted.

Examples:
  $ svc canonical-sweep
  $ svc canonical-sweep --provider firestore --project my-project`;
