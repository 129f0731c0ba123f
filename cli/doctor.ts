import { Command, Option } from 'commander';
import { machine } from '../functions/compose/machine.ts';
import { adviceOn } from '../functions/config/advice.ts';
import { faultsText } from '../functions/config/fault.ts';
import { type ConfigurationInput, readSettings } from '../functions/config/load.ts';
import { inputOf } from '../functions/config/machine.ts';
import { unservedRuns } from '../functions/config/rules.ts';
import type { Host } from '../functions/config/setting.ts';
import { lines, type Settings, table } from '../functions/config/table.ts';
import description from '../package.json' with { type: 'json' };
import { type Check, failed, ok, warning } from './doctor/check.ts';
import { type CloudOptions, cloudOptions } from './doctor/cloud/options.ts';
import { emulatorCheck, nodeCheck } from './doctor/machine.ts';
import { portCheck } from './doctor/port.ts';
import { exitCodeOfChecks, serverChecks } from './doctor/server.ts';
import { type DeepChecks, storageChecks } from './doctor/storage.ts';
import { exitCodes, type OutputForm, outputOption, printLine, ToolError, textTable } from './output.ts';
import { serverAddress } from './remote/address.ts';
import { printable } from './remote/printable.ts';
import { Remote, serverOf, serverOptions, timeoutOption } from './remote.ts';
import { withSettingsFile } from './settings-argument.ts';

interface DoctorOptions extends CloudOptions {
  readonly server: string | undefined;
  readonly for: Host;
  readonly output: OutputForm;
  readonly json?: true;
  readonly deep?: true;
}

/** `svc doctor`: finds problems of this machine, its settings or a service, and names the remedies. */
export function doctorCommand(): Command {
  const [address, alias] = serverOptions('a running service to look at, too');
  const command = new Command('doctor')
    .description('finds problems that keep the service from working here, and names the remedies')
    .argument('[settings...]', 'FILE, or settings as the service takes them: --Key=value, --settings FILE')
    .addOption(address)
    .addOption(alias)
    .addOption(timeoutOption(10))
    .addOption(
      new Option('--for <host>', 'whose defaults').choices(['embedded', 'functions']).default('embedded'),
    )
    .option(
      '--deep',
      'reads every page of a SQLite file and every stored body that has a hash, which can take hours, and names what is damaged',
    )
    .addOption(outputOption())
    .option('--json', 'the same as --output json')
    .allowUnknownOption()
    .allowExcessArguments();
  for (const option of cloudOptions()) command.addOption(option);
  return command.action(async (_: unknown, __: unknown, self: Command) => {
    const options = self.optsWithGlobals<DoctorOptions>();
    const checks = await allChecks({ ...options, server: serverOf(self) }, self.args);
    printLine(options.output === 'json' || options.json === true ? jsonText(checks) : tableText(checks));
    process.exitCode = exitCodeOfChecks(checks);
  });
}

async function allChecks(options: DoctorOptions, args: readonly string[]): Promise<Check[]> {
  const { server, timeout, verbose } = options;
  const node = nodeCheck(process.versions.node, description.devDependencies.node);
  const found = options.cloud === true ? [cloudPart(options, args)] : localParts(options, args);
  if (server !== undefined && server !== '') {
    const remote = new Remote(serverAddress(server), [], { timeout, ...(verbose ? { verbose } : {}) });
    found.push(serverChecks(remote, () => machine.clock.now()));
  }
  return [node, ...(await Promise.all(found)).flat()];
}

function localParts(options: DoctorOptions, args: readonly string[]): Promise<Check[]>[] {
  const misplaced = (['deployment', 'project'] as const).find((name) => options[name] !== undefined);
  if (misplaced !== undefined) throw new ToolError(`--${misplaced} goes with --cloud`, exitCodes.usage);
  const input = inputOf(options.for, withSettingsFile(args));
  return [localChecks(input, options), emulatorCheck(input.env).then((check) => [check])];
}

/** In the cloud the functions have the settings, so that those of this machine say nothing. */
async function cloudPart(options: DoctorOptions, args: readonly string[]): Promise<Check[]> {
  if (options.deep === true)
    throw new ToolError('--deep takes the settings of the service, and not --cloud', exitCodes.usage);
  const [first] = args;
  if (first !== undefined)
    throw new ToolError(`--cloud takes no settings, such as ${first}`, exitCodes.usage);
  const { cloudReport } = await import('./doctor/cloud/report.ts');
  return cloudReport(options);
}

/** The checks that depend on the settings. Faulty settings skip them, so that no wrong database is checked. */
async function localChecks(input: ConfigurationInput, { deep, verbose }: DoctorOptions): Promise<Check[]> {
  const files: string[] = [];
  const { settings, faults, sourcesOf } = readSettings({
    ...input,
    readFile(path) {
      const text = input.readFile(path);
      if (text !== undefined) files.push(path);
      return text;
    },
  });
  if (faults.length > 0) {
    const remedy =
      'Mend them; svc config show lists the settings in force. Checks that depend on them were skipped.';
    return [failed('settings', faultsText(faults), remedy)];
  }
  const { host, port } = settings.server;
  const found = [storageChecks(settings, deep === true ? deepChecks(verbose === true) : null)];
  if (input.host === 'embedded') found.push(portCheck(host, port).then((check) => [check]));
  const isGiven = files.length > 0 || lines.some(({ key }) => sourcesOf(key).length > 0);
  const sound = soundCheck(settings, isGiven);
  return [sound, ...adviceChecks(settings, input.host), ...(await Promise.all(found)).flat()];
}

/** Where nothing is given, the checks hold for the defaults, which may not be the settings of the service. */
function soundCheck(settings: Settings, isGiven: boolean): Check {
  const { environment } = settings.service;
  const text = (first: string) => [first, ...attemptsText(settings)].join('\n');
  if (isGiven) return ok('settings', text(`The settings have no fault (${environment}).`));
  const message = `No settings are given in ${process.cwd()}: the defaults of ${environment} were checked.`;
  const remedy =
    'Name the file: svc doctor FILE. svc init writes one. Without any, the service runs with the same defaults.';
  return warning('settings', text(message), remedy);
}

function deepChecks(verbose: boolean): DeepChecks {
  return {
    verbose,
    async pages(path) {
      const { pageChecks } = await import('./doctor/pages.ts');
      return pageChecks(path, verbose);
    },
    async bodies(at) {
      const { bodyChecks } = await import('./doctor/bodies.ts');
      return bodyChecks(at, verbose);
    },
  };
}

/** How often a failing run is tried: a newcomer expects a retry, and the default is none. */
function attemptsText({ execution }: Settings): string[] {
  if (!execution.enabled) return [];
  const outside = execution.externalHandlers.map(
    ({ HandlerId, MaxAttempts }) => `${HandlerId} ${MaxAttempts ?? 1}`,
  );
  const rule = 'A run has 1 attempt unless its handler (maxAttempts) or its start (retryPolicy) sets more.';
  return outside.length === 0 ? [rule] : [rule, `Attempts of handlers outside: ${outside.join(', ')}.`];
}

/** The doubtful settings, as `svc config check` lists them. That no runs are served has a check of its own. */
function adviceChecks(settings: Settings, host: Host): Check[] {
  const unserved = unservedRuns(settings);
  const runs = unserved === null ? [] : [warning('runs', unserved.reason, unserved.remedy)];
  const doubtful = adviceOn(settings, host).filter(
    ({ key }) => unserved === null || key !== table.executionAccess.identityPolicies.key,
  );
  return [
    ...runs,
    ...doubtful.map(({ key, message, remedy }) => warning('setting', `${key} ${message}.`, remedy)),
  ];
}

function jsonText(checks: readonly Check[]): string {
  return JSON.stringify({ ok: exitCodeOfChecks(checks) === 0, checks }, null, 2);
}

function tableText(checks: readonly Check[]): string {
  const rows = checks.flatMap(({ id, status, message, remedy }) => {
    const [first = '', ...more] = message.split('\n').map((line) => printable(line));
    const below = [...more, ...(remedy === null ? [] : [`-> ${printable(remedy)}`])];
    return [[status, id, first], ...below.map((line) => ['', '', line])];
  });
  return textTable([['STATUS', 'CHECK', 'MESSAGE'], ...rows]);
}
