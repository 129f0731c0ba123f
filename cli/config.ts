import { Command, Option } from 'commander';
import { type DescribedSetting, describeConfiguration } from '../functions/config/describe.ts';
import { faultsText } from '../functions/config/fault.ts';
import { inputOf } from '../functions/config/machine.ts';
import { settingsSchema } from '../functions/config/reference.ts';
import type { Host } from '../functions/config/setting.ts';
import { shortenedRows } from './columns.ts';
import { configCheckCommand, exitOfFaults } from './config-check.ts';
import { jsonText, outputWidth, printLine, textTable, warn } from './output.ts';
import { shortened } from './remote/printable.ts';

interface ShowOptions {
  readonly for: Host;
  readonly output: 'table' | 'json';
  readonly all?: true;
}

/** `svc config`: shows the configuration that the service would start with here. */
export function configCommand(): Command {
  const command = new Command('config').description(
    'shows and checks the settings of this folder and environment',
  );
  command.addCommand(
    reading('show', 'shows the settings that are not at their default, without secrets, and their sources')
      .option('--all', 'every setting in force, also those at their default')
      .addOption(new Option('--changed', 'the former name of what is now the default').hideHelp())
      .addOption(
        new Option('--output <form>', 'the form of the list').choices(['table', 'json']).default('table'),
      )
      .action((_: unknown, options: ShowOptions, { args }: Command) => show(options, args)),
  );
  command.addCommand(configCheckCommand(reading));
  command
    .command('schema')
    .description('prints the JSON Schema of a settings file, for editors')
    .action(() => printLine(JSON.stringify(settingsSchema(), null, 2)));
  return command;
}

/** A command that reads the settings: it takes the service's arguments, such as `--Server:Port=1`. */
function reading(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .argument('[settings...]', 'settings as the service takes them: --Key=value, --settings FILE')
    .addOption(
      new Option('--for <host>', 'whose defaults').choices(['embedded', 'functions']).default('embedded'),
    )
    .allowUnknownOption()
    .allowExcessArguments();
}

function show({ for: host, output, all }: ShowOptions, args: readonly string[]): void {
  const { settings, faults } = describeConfiguration(inputOf(host, args));
  const rows = all === true ? settings : settings.filter(({ sources }) => sources.length > 0);
  if (output === 'json') printLine(jsonText({ settings: rows, faults }));
  else {
    const table = [['SETTING', 'VALUE', 'SOURCE'], ...rows.map(row)];
    if (rows.length > 0) printLine(textTable(shortenedRows(table, outputWidth(), shortened)));
    const others = settings.length - rows.length;
    if (others > 0) warn(`${others} settings are at their default; --all shows them.`);
  }
  if (faults.length === 0) return;
  if (output === 'table') warn(faultsText(faults));
  process.exitCode = exitOfFaults(faults);
}

function row({ key, value, sources }: DescribedSetting): string[] {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return [key, value === null ? '-' : text, sources.length === 0 ? 'default' : sources.join(', ')];
}
