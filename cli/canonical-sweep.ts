import { Command } from 'commander';
import type { RecordStore } from '../functions/store/port.ts';
import { type DatabaseOptions, databaseCommand } from './copy-options.ts';
import { interruptible } from './interruption.ts';
import { printResult } from './output.ts';
import { withStore } from './store.ts';

/** `svc canonical-sweep`: deletes content that restores replaced or that failed restores left behind. */
export function canonicalSweepCommand(): Command {
  return databaseCommand(
    new Command('canonical-sweep').description(
      'deletes content that restores replaced or that failed restores left behind',
    ),
  )
    .addHelpText('after', examples)
    .action((_, invoked: Command) => sweep(invoked.optsWithGlobals<DatabaseOptions>()));
}

async function sweep(options: DatabaseOptions): Promise<void> {
  await interruptible('the next sweep deletes the rest', (signal) =>
    withStore(options, { verbose: options.verbose === true }, async ({ store, place }) => {
      // Closing the store ends the sweep.
      await Promise.race([store.sweep(), aborted(signal)]);
      printResult(options.output, { database: place, swept: true, left: leftBy(store) });
    }),
  );
}

/**
 * The content that a sweep keeps. A count of deletions would mislead: opening a SQL database has already swept most
 * of it.
 */
function leftBy({ provider }: RecordStore): string {
  return provider === 'firestore'
    ? 'data that was replaced, or written by an unfinished restore, less than an hour ago'
    : 'data that an unfinished restore wrote less than an hour ago';
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}

const examples = `
A restore loads the new content beside the old one. On SQL databases the restore deletes the old content itself, and so
does every process that opens the database. On Firestore the old content stays for an hour, because another reader may
still use it; then the next restore of the tenant deletes it, or this command: run it there once a day. A restore without
a write for an hour counts as failed. The sweep never deletes content that a reader can see.

Examples:
  $ svc canonical-sweep
  $ svc canonical-sweep --provider firestore --project my-project`;
