/** The arguments of `npm run emulator`. */
export interface Options {
  readonly help: boolean;
  readonly show: boolean;
  readonly built: boolean;
  readonly oidc: boolean;
  /** A folder in which tasks survive the process. */
  readonly data: string | undefined;
  /** Settings of the service in the form of environment variables: `Server:Port` as `Server__Port`. */
  readonly settings: Readonly<Record<string, string>>;
}

export const help = `The cloud on one machine: the official Firestore emulator, an emulator of Cloud Tasks, a scheduler, an issuer of identity
tokens, each function behind functions-framework in a process of its own, and one address before them.

Usage: npm run emulator -- [options] [--Key=value …]

  --help           shows this
  --built          serves the bundle of npm run build instead of the sources
  --oidc           asks callers for identity tokens, as the cloud would
  --data <folder>  keeps queues and tasks there, so that they are sent after a restart; the documents and runs are in the
                   Firestore emulator, which keeps nothing
  --show           prints the queues, tasks and jobs of the local cloud that is running

  PORT                     the one address, default 5220; 0 takes a free one
  ADMIN_PORT               the page of queues, tasks and jobs, with switches for faults; default the one after PORT
  GOOGLE_CLOUD_PROJECT     project in the emulator, default demo-svc
  FIRESTORE_EMULATOR_HOST  an emulator that is running already
  FIRESTORE_EMULATOR_JAR   the emulator's jar, where it is not found by itself

Every setting of the service can be given in the environment, or as --Key=value.
It listens on loopback. Without --oidc it runs in Development: every process on this machine may call it.`;

const allFlags = new Set(['--help', '-h', '--show', '--built', '--oidc']);

/** Parses the arguments; for invalid ones returns a sentence that names the fault. */
export function readOptions(argv: readonly string[]): Options | string {
  const flags = new Set<string>();
  const settings: Record<string, string> = {};
  let data: string | undefined;
  for (let at = 0; at < argv.length; at += 1) {
    const word = argv[at] ?? '';
    if (allFlags.has(word)) {
      flags.add(word);
      continue;
    }
    const option = word === '--data' ? `--data=${argv[((at += 1))] ?? ''}` : word;
    const [, key = '', value = ''] = /^--([A-Za-z0-9:]+)=(.*)$/s.exec(option) ?? [];
    if (key === '') return 'Options are written --Key=value; --help shows them.';
    if (key !== 'data') settings[key.replaceAll(':', '__')] = value;
    else if (value === '' || value.startsWith('-')) return '--data needs a folder.';
    else data = value;
  }
  return {
    help: flags.has('--help') || flags.has('-h'),
    show: flags.has('--show'),
    built: flags.has('--built'),
    oidc: flags.has('--oidc'),
    data,
    settings,
  };
}

/** The ports of the router and of the admin page. Throws an Error for an invalid port. */
export function portsOf(
  settings: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string | undefined>>,
): { readonly port: number; readonly adminPort: number } {
  const port = portIn(settings['Server__Port'] ?? env['PORT'], 5220, 'PORT');
  return { port, adminPort: portIn(env['ADMIN_PORT'], port === 0 ? 0 : port + 1, 'ADMIN_PORT') };
}

function portIn(text: string | undefined, otherwise: number, name: string): number {
  if (text === undefined || text === '') return otherwise;
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new Error(`${name} must be a port, a whole number from 0 to 65535.`);
}
