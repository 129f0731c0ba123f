import { statSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { type Command, Option } from 'commander';
import { type CheckedConfiguration, checkConfiguration, type Finding } from '../functions/config/check.ts';
import { describeConfiguration } from '../functions/config/describe.ts';
import { type Fault, faultLine, isOfFile } from '../functions/config/fault.ts';
import { offLine } from '../functions/config/groups-off.ts';
import type { ConfigurationInput } from '../functions/config/load.ts';
import { inputOf } from '../functions/config/machine.ts';
import { placeholdersIn } from '../functions/config/placeholders.ts';
import type { Host } from '../functions/config/setting.ts';
import { exitCodes, jsonText, type OutputForm, outputOption, printLine, ToolError, warn } from './output.ts';
import { withSettingsFile } from './settings-argument.ts';

interface CheckOptions {
  readonly for: Host;
  readonly output: OutputForm;
  readonly json?: true;
  readonly strict?: true;
  readonly envFile?: string;
}

/** `svc config check`: every fault and every doubtful setting, each with its remedy. */
export function configCheckCommand(reading: (name: string, description: string) => Command): Command {
  return reading('check', 'lists every fault and every doubtful setting; exits with 1 if there is a fault')
    .option('--env-file <file>', 'reads the variables of this file instead of the environment')
    .option('--strict', 'exits with 1 after a warning, too')
    .addOption(outputOption())
    .addOption(new Option('--json', 'the same as --output json'))
    .addHelpText('after', examples)
    .action((_: unknown, options: CheckOptions, { args }: Command) => check(options, args));
}

function check(options: CheckOptions, args: readonly string[]): void {
  const input = inputFor(options, args);
  const made = checkConfiguration(input);
  const findings = [...made.findings, ...placeholders(made, input), ...openSecrets(made, options.envFile)];
  const checked = { ...made, findings };
  const count = (severity: Finding['severity']) =>
    checked.findings.filter((finding) => finding.severity === severity).length;
  const [faults, warnings] = [count('fault'), count('warning')];
  if (options.json === true || options.output === 'json') printLine(jsonOf(checked, faults === 0));
  else {
    if (faults === 0) printLine(`The configuration has no fault (${checked.settings.service.environment}).`);
    if (!checked.isGiven)
      warn(
        `No settings are given in ${process.cwd()}: the defaults were checked. Name a file: svc config check FILE.`,
      );
    for (const off of checked.off) printLine(offLine(off));
    if (faults + warnings > 0) warn(findingsText(checked.findings, faults, warnings));
  }
  if (faults > 0) process.exitCode = exitOfFaults(findings.filter(({ severity }) => severity === 'fault'));
  else if (options.strict === true && warnings > 0) process.exitCode = exitCodes.failed;
}

/** A file that was not read, or a word that is no setting, is a mistake of the call; the other faults are a result of it. */
export function exitOfFaults(faults: readonly Fault[]): number {
  const ofCall = faults.filter(isOfFile).map(({ message }) => message);
  if (ofCall.includes('does not exist')) return exitCodes.notFound;
  return ofCall.some((message) => !message.startsWith('cannot be read')) ? exitCodes.usage : exitCodes.failed;
}

/**
 * Names of the examples that are still there. An embedded server in Development needs no names of your own; cloud functions read the
 * accounts and projects of their settings in every environment.
 */
function placeholders({ settings }: CheckedConfiguration, input: ConfigurationInput): Finding[] {
  if (input.host === 'embedded' && settings.service.environment === 'Development') return [];
  const remedy = 'Put your own domain, project and accounts in its place.';
  const found = placeholdersIn(describeConfiguration(input).settings);
  return found.map((each) => ({ severity: 'fault' as const, ...each, remedy }));
}

/** Secrets in files that other users of the machine can read. */
function openSecrets({ secrets }: CheckedConfiguration, envFile: string | undefined): Finding[] {
  return secrets.flatMap(({ key, source }) => {
    const file = source.startsWith('environment variable ') ? envFile : source;
    const mode = file === undefined ? 0 : (statSync(file, { throwIfNoEntry: false })?.mode ?? 0);
    if ((mode & 0o077) === 0) return [];
    const message = `is a secret, and other users of this machine can read ${file}`;
    const remedy = `Restrict the file: chmod 600 ${file}`;
    return [{ severity: 'warning' as const, key, source, message, remedy }];
  });
}

function inputFor({ for: host, envFile }: CheckOptions, args: readonly string[]): ConfigurationInput {
  const input = inputOf(host, withSettingsFile(args));
  if (envFile === undefined) return input;
  const text = input.readFile(envFile);
  if (text === undefined) throw new ToolError(`${envFile}: there is no such file`, exitCodes.notFound);
  return { ...input, env: parseEnv(text) };
}

function jsonOf({ settings, findings, isGiven, off }: CheckedConfiguration, ok: boolean): string {
  return jsonText({ ok, environment: settings.service.environment, given: isGiven, findings, off });
}

function findingsText(findings: readonly Finding[], faults: number, warnings: number): string {
  const counts = [
    [faults, 'fault'],
    [warnings, 'warning'],
  ] as const;
  const counted = counts
    .filter(([count]) => count > 0)
    .map(([count, word]) => `${count === 1 ? 'a' : count} ${word}${count === 1 ? '' : 's'}`);
  const rows = findings.flatMap((finding) => [
    `  ${finding.severity === 'warning' ? 'warning: ' : ''}${faultLine(finding)}`,
    `    -> ${finding.remedy}`,
  ]);
  return [`The configuration has ${counted.join(' and ')}:`, ...rows].join('\n');
}

const examples = `
Faults stop the start of the service; warnings do not. The check reads the settings as the service would, and connects to
nothing: svc doctor also looks at the database and the port. A file that is not valid JSON ends it with 2, and one that does not
exist with 3. Outside Development, and for functions in every environment, svc.example.com and my-project, the names in the
examples, are faults to the check alone: the service would start with them and refuse every caller.

Examples:
  $ svc config check
  $ svc config check /etc/svc/svcsettings.json --env-file /etc/svc/svc.env --strict
  $ svc config check --for functions --env-file deploy.env --json`;
