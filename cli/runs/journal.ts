import { Command } from 'commander';
import { type OutputForm, outputOption } from '../output.ts';
import type { Inputs } from '../remote/inputs.ts';
import { connect } from '../remote.ts';

interface JournalOptions {
  readonly json?: true;
  readonly values: boolean;
  readonly output: OutputForm;
}

/** `svc runs journal` */
export function journalCommand(inputs: Inputs): Command {
  return new Command('journal')
    .description('shows the steps of a run, with their results')
    .argument('<runId>', 'the run')
    .option('--json', 'one document for programs, such as replay of the kits')
    .option('--no-values', 'with --json: without the results that have checkpoints of their own')
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
Examples:
  svc runs journal 00000001767225600000
  svc runs journal 00000001767225600000 --json > refund.journal.json`,
    )
    .action(async (runId: string, { json, values, output }: JournalOptions, self: Command) => {
      const remote = await connect(self, inputs);
      const { showJournal } = await import('./journal/show.ts');
      await showJournal(remote, runId, { asDocument: json === true || output === 'json', values });
    });
}
