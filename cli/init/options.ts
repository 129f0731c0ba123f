import { type Command, InvalidArgumentError, Option } from 'commander';

/** The command line options of `svc init`. */
export interface InitOptions {
  readonly out: string;
  readonly database?: 'sqlite' | 'postgresql' | 'mysql' | 'firestore';
  readonly dataDir?: string;
  readonly connectionStringFile?: string;
  readonly tenant?: readonly string[];
  readonly product?: string;
  readonly handler?: readonly string[];
  readonly issuer?: string;
  readonly keySetUrl?: string;
  readonly audience?: string;
  readonly principal?: string;
  readonly workerPrincipal?: string;
  readonly operatorPrincipal?: string;
  readonly workerId: string;
  readonly apiKey?: true;
  readonly port?: number;
  readonly proxies: number;
  readonly cloud?: true;
  readonly project?: string;
  readonly location?: string;
  readonly queue?: string;
  readonly workerUrl?: string;
  readonly serviceAccount?: string;
  readonly schedulerPrincipal?: string;
  readonly bucket?: string;
  readonly yes?: true;
  readonly force?: true;
  readonly addIdentity?: string;
  readonly starter?: true;
  readonly language?: string;
  readonly from?: string;
}

export function withInitOptions(command: Command): Command {
  for (const option of initOptions()) command.addOption(option);
  return command;
}

function initOptions(): Option[] {
  return [
    new Option('--out <folder>', 'where the files are written').default('.'),
    new Option('--database <provider>', 'the database (default: sqlite, with --cloud firestore)').choices([
      'sqlite',
      'postgresql',
      'mysql',
      'firestore',
    ]),
    new Option('--data-dir <folder>', 'data folder of the embedded server (default: .svc)'),
    new Option('--connection-string-file <file>', 'file with the address of a PostgreSQL or MySQL database'),
    new Option('--tenant <id...>', 'tenants of the application; * grants all'),
    new Option('--product <id>', 'product whose runs the application starts'),
    new Option('--handler <id...>', 'handlers that external workers execute'),
    new Option(
      '--issuer <issuer>',
      'issuer of identity tokens: own (a key made here), google, or the address of another',
    ),
    new Option('--key-set-url <url>', 'where another issuer publishes its keys'),
    new Option('--audience <text>', 'audience of identity tokens, such as the address of the service'),
    new Option('--principal <name>', 'principal of the application, as tokens name it'),
    new Option('--worker-principal <name>', 'principal of the workers'),
    new Option('--operator-principal <name>', 'principal of the operators'),
    new Option('--worker-id <id>', 'worker id of the workers').default('worker-1'),
    new Option('--api-key', 'asks callers for an API key beside their token, and makes one'),
    new Option('--port <number>', 'port of the embedded server').argParser(numberUpTo(65_535)),
    new Option('--proxies <count>', 'proxies in front of the embedded server')
      .argParser(numberUpTo(16))
      .default(1),
    new Option('--cloud', 'settings of functions; with a project also the environment of their queue'),
    new Option('--project <id>', 'with --cloud: the project'),
    new Option('--location <name>', 'with --cloud: the location of the queue'),
    new Option('--queue <id>', 'with --cloud: the queue'),
    new Option('--worker-url <url>', 'with --cloud: the address of the hosted worker'),
    new Option('--service-account <email>', 'with --cloud: the account whose token deliveries carry'),
    new Option('--scheduler-principal <email>', 'with --cloud: the account of scheduled maintenance'),
    new Option('--bucket <name>', 'with --cloud: the bucket of large artifacts'),
    new Option('--yes', 'asks nothing'),
    new Option('--force', 'replaces existing files; an existing signing key stays'),
    new Option(
      '--add-identity <principal>',
      'adds an application to the settings in --out, with the grants of the one that is there (and --tenant)',
    ),
    new Option(
      '--starter',
      'writes an application with handlers, a test and requests into --out, and no settings',
    ),
    new Option('--language <name>', 'of the application (default: typescript)').choices([
      'typescript',
      'python',
    ]),
    new Option('--from <folder>', 'takes the packages of the application from files of this folder'),
  ];
}

function numberUpTo(most: number): (text: string) => number {
  return (text) => {
    if (/^\d{1,5}$/.test(text) && Number(text) <= most) return Number(text);
    throw new InvalidArgumentError(`It must be a whole number from 0 to ${most}.`);
  };
}
