import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { Command } from 'commander';
import { machine } from '../functions/compose/machine.ts';
import { checkConfiguration } from '../functions/config/check.ts';
import { faultsText } from '../functions/config/fault.ts';
import { settingsSchema } from '../functions/config/reference.ts';
import { fileNames, type InitAnswers } from './init/answers.ts';
import { type Ask, answersFrom } from './init/ask.ts';
import { credentialFiles } from './init/credentials.ts';
import { type NewFile, writeFiles } from './init/files.ts';
import { nextSteps } from './init/next-steps.ts';
import { type InitOptions, withInitOptions } from './init/options.ts';
import { cloudVariablesOf, secretsOf, settingsOf } from './init/plan.ts';
import { exitCodes, printLine, ToolError } from './output.ts';

const readFile = (path: string) => readFileSync(path, 'utf8');

/** `svc init`: writes the settings of a Production service, with the credentials for a first call. */
export function initCommand(): Command {
  const command = new Command('init').description(
    'writes the settings of a Production service, with credentials for the first calls',
  );
  return withInitOptions(command)
    .addHelpText('after', examples)
    .action(async (options: InitOptions, invoked: Command) => {
      if (options.starter === true) {
        const { starter } = await import('./init/starter.ts');
        return printLine(starter(options, invoked));
      }
      return options.addIdentity === undefined ? init(options) : add(options.addIdentity, options, invoked);
    });
}

async function init(options: InitOptions): Promise<void> {
  const terminal = options.yes !== true && process.stdin.isTTY ? openTerminal() : null;
  const answers = await answersFrom({ options, ask: terminal?.ask ?? null, readFile }).finally(() =>
    terminal?.close(),
  );
  const configuration = configurationFiles(answers);
  refuseFaults(answers, configuration);
  const files = [...configuration, ...(await credentialFiles(answers, machine))];
  await writeFiles(answers.out, files, options.force === true);
  printLine(nextSteps(answers, files));
}

/** Options that say how an identity is added. */
const ofAddition: ReadonlySet<string> = new Set(['addIdentity', 'out', 'tenant', 'yes']);

async function add(principal: string, { out, tenant }: InitOptions, invoked: Command): Promise<void> {
  const others = invoked.options.filter(
    (option) =>
      invoked.getOptionValueSource(option.attributeName()) === 'cli' &&
      !ofAddition.has(option.attributeName()),
  );
  if (others.length > 0) {
    const message = `--add-identity takes --out and --tenant alone, not ${others.map(({ long }) => long).join(', ')}`;
    throw new ToolError(message, exitCodes.usage);
  }
  if (principal.trim() === '') throw new ToolError('--add-identity names no principal', exitCodes.usage);
  if (tenant?.includes('*') === true)
    throw new ToolError('--add-identity takes tenants by their names, not *', exitCodes.usage);
  const { addIdentity } = await import('./init/add-identity.ts');
  printLine(await addIdentity({ out, principal, tenants: tenant ?? null }, machine));
}

function openTerminal(): { readonly ask: NonNullable<Ask>; close(): void } {
  const reader = createInterface({ input: process.stdin, output: process.stderr });
  // Ctrl+C and the end of the input close the reader, and its question would never be answered.
  const closed = new Promise<never>((_, reject) => {
    reader.once('close', () => reject(new ToolError('No answer: nothing was written', exitCodes.failed)));
  });
  closed.catch(() => undefined);
  return {
    ask(question, fallback) {
      const shown = fallback === '' ? question : `${question} [${fallback}]`;
      return Promise.race([reader.question(`${shown}: `), closed]);
    },
    close: () => reader.close(),
  };
}

function configurationFiles(answers: InitAnswers): NewFile[] {
  if (/['\r\n]/.test(Object.values(variablesOf(answers)).join(''))) {
    throw new ToolError('A value for the environment holds a quote or a line feed', exitCodes.usage);
  }
  // A file beside the settings: editors read it without a network, and it belongs to this release.
  const settings = { $schema: `./${fileNames.schema}`, ...settingsOf(answers) };
  const written = [
    {
      name: fileNames.settings,
      text: jsonFile(settings),
      secret: false,
      purpose: 'settings, without secrets',
    },
    {
      name: fileNames.schema,
      text: jsonFile(settingsSchema()),
      secret: false,
      purpose: 'the schema of the settings, for editors',
    },
  ];
  const variables = variablesOf(answers);
  if (Object.keys(variables).length === 0) return written;
  const secret = Object.keys(secretsOf(answers)).length > 0;
  const purpose = answers.cloud === null ? 'secrets of the environment' : 'the environment of the functions';
  return [...written, { name: fileNames.environment, text: environmentText(variables), secret, purpose }];
}

function jsonFile(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function variablesOf(answers: InitAnswers): Readonly<Record<string, string>> {
  const { cloud, handlers } = answers;
  return { ...(cloud === null ? {} : cloudVariablesOf(cloud, handlers)), ...secretsOf(answers) };
}

/** Lines that systemd, a shell and `node --env-file` read alike. */
function environmentText(variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables)
    .map(([name, value]) => `${name}='${value}'\n`)
    .join('');
}

/** The rules of the service judge the answers before a file is written. */
function refuseFaults(answers: InitAnswers, files: readonly NewFile[]): void {
  const [settings] = files;
  const { findings } = checkConfiguration({
    host: answers.functions ? 'functions' : 'embedded',
    env: { ...variablesOf(answers), ...(needsAddress(answers) && { CanonicalStore__ConnectionString: 'x' }) },
    argv: [],
    readFile: (path) => (path === fileNames.settings ? settings?.text : undefined),
  });
  const faults = findings.filter(({ severity }) => severity === 'fault');
  if (faults.length > 0) throw new ToolError(`${faultsText(faults)}\nNothing was written.`, exitCodes.usage);
}

/** Whether the operator still has to name the database. */
function needsAddress({ database, connectionString }: InitAnswers): boolean {
  return connectionString === null && (database === 'postgresql' || database === 'mysql');
}

const examples = `
On a terminal the command asks for what the options leave open; elsewhere, and with --yes, it takes defaults and names what
is missing. It overwrites nothing without --force. Secrets are never in ${fileNames.settings}: the connection string is in
${fileNames.environment}, keys and tokens are in files of their own, all of them for their owner only.

With --issuer own (the default) you issue identity tokens yourself: ${join('<out>', fileNames.signingKey)} signs them, the
service verifies them with ${fileNames.keySet}, and svc identity-token makes the next ones.

Examples:
  $ svc init --tenant acme --product shop --handler refund.pay
  $ svc init --out /etc/svc --data-dir /var/lib/svc --tenant acme --product shop --yes
  $ svc init --add-identity reports
  $ svc init --starter --out my-app --language python
  $ svc init --database postgresql --connection-string-file db.url --tenant acme --product shop
  $ svc init --issuer google --audience https://svc.example.com --principal api@my-project.iam.gserviceaccount.com \\
      --tenant acme --product shop
  $ svc init --cloud --audience https://svc.example.com --principal api@my-project.iam.gserviceaccount.com \\
      --tenant acme --product shop`;
