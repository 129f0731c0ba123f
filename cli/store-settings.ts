import { join, parse } from 'node:path';
import { type Fault, faultsText } from '../functions/config/fault.ts';
import { type ConfigurationInput, type ReadSettings, readSettings } from '../functions/config/load.ts';
import type { Provider } from '../functions/config/settings/storage.ts';
import { lines, type Settings, table } from '../functions/config/table.ts';
import { exitCodes, ToolError } from './output.ts';

/** The options that select the database. */
export interface StoreOptions {
  readonly db?: string;
  readonly canonicalDb?: string;
  readonly provider?: string;
  readonly connectionString?: string;
  readonly connectionStringFile?: string;
  readonly project?: string;
  readonly database?: string;
  readonly emulatorHost?: string;
  readonly settings?: string;
  readonly artifactDirectory?: string;
  readonly artifactBucket?: string;
}

type ConnectionInput = Omit<ConfigurationInput, 'host' | 'argv'>;

const commandLine = 'command line';

/**
 * Reads the service's settings from the same file and environment and applies the options on top, so that one set of
 * rules validates both. Throws a `ToolError` with every fault that concerns the database.
 */
export function readStoreSettings(options: StoreOptions, input: ConnectionInput): Settings {
  const read = readSettings({ ...input, host: 'embedded', argv: argumentsOf(options, input) });
  refuseMisplaced(options, read);
  const faults = read.faults.filter((fault) => bears(fault, read));
  if (faults.length > 0) throw new ToolError(faultsText(faults), exitCodes.usage);
  if (!read.settings.canonicalStore.enabled) {
    const { key } = table.canonicalStore.enabled;
    const source = read.sourcesOf(key).join(', ');
    throw new ToolError(`The canonical store is switched off: ${key} is false (${source})`, exitCodes.usage);
  }
  return read.settings;
}

/**
 * The options as settings arguments.
 * @testonly
 */
export function argumentsOf(
  options: StoreOptions,
  { readFile }: Pick<ConnectionInput, 'readFile'>,
): string[] {
  const given: (readonly [{ readonly key: string }, string | undefined])[] = [
    [table.canonicalStore.provider, options.provider ?? impliedProvider(options)],
    [table.canonicalStore.databasePath, options.canonicalDb ?? canonicalSibling(options.db)],
    [table.canonicalStore.connectionString, connectionStringOf(options, readFile)],
    [table.firestore.projectId, options.project],
    [table.firestore.databaseId, options.database],
    [table.firestore.emulatorHost, options.emulatorHost],
    [table.execution.artifactDirectory, options.artifactDirectory],
    [table.execution.artifactObjectContainer, options.artifactBucket],
  ];
  const settings = given.flatMap(([{ key }, value]) => (value === undefined ? [] : [`--${key}=${value}`]));
  return options.settings === undefined ? settings : [`--settings=${options.settings}`, ...settings];
}

/**
 * `svc.sqlite` names the records file beside `svc.canonical.sqlite`; the latter stands for itself.
 * @testonly
 */
export function canonicalSibling(db: string | undefined): string | undefined {
  if (db === undefined || db.endsWith('.canonical.sqlite')) return db;
  const { dir, name } = parse(db);
  return join(dir, `${name}.canonical.sqlite`);
}

function connectionStringOf(
  { connectionString, connectionStringFile }: StoreOptions,
  readFile: ConnectionInput['readFile'],
): string | undefined {
  if (connectionStringFile === undefined) return connectionString;
  if (connectionString !== undefined) {
    throw new ToolError('Give --connection-string or --connection-string-file, not both', exitCodes.usage);
  }
  const text = readConnectionFile(connectionStringFile, readFile)?.trim();
  if (text === undefined) {
    throw new ToolError(`${connectionStringFile}: there is no such file`, exitCodes.notFound);
  }
  if (text === '') throw new ToolError(`${connectionStringFile}: the file is empty`, exitCodes.usage);
  return text;
}

/** The error of reading a folder does not name it. */
function readConnectionFile(path: string, readFile: ConnectionInput['readFile']): string | undefined {
  try {
    return readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EISDIR') throw error;
    throw new ToolError(`${path}: is a folder; name the file in it`, exitCodes.usage);
  }
}

const ownedOptions: readonly (readonly [keyof StoreOptions, flag: string, owners: readonly Provider[]])[] = [
  ['db', '--db', ['sqlite']],
  ['canonicalDb', '--canonical-db', ['sqlite']],
  ['project', '--project', ['firestore']],
  ['database', '--database', ['firestore']],
  ['emulatorHost', '--emulator-host', ['firestore']],
  ['connectionString', '--connection-string', ['postgresql', 'mysql']],
  ['connectionStringFile', '--connection-string-file', ['postgresql', 'mysql']],
];

/** An option of one provider selects that provider: a user who names a file does not mean the configured database. */
function impliedProvider(options: StoreOptions): Provider | undefined {
  for (const [option, , [owner, another]] of ownedOptions) {
    if (options[option] !== undefined && another === undefined) return owner;
  }
  const scheme = /^(postgres|mysql|mariadb)(ql)?:\/\//i.exec(options.connectionString ?? '')?.[1];
  if (scheme === undefined) return undefined;
  return scheme.toLowerCase() === 'postgres' ? 'postgresql' : 'mysql';
}

/** An option without effect was meant for another database than the one that would be changed. */
function refuseMisplaced(options: StoreOptions, { settings, faults, sourcesOf }: ReadSettings): void {
  const { key } = table.canonicalStore.provider;
  if (faults.some((fault) => fault.key === key)) return;
  const { provider } = settings.canonicalStore;
  for (const [option, flag, owners] of ownedOptions) {
    if (options[option] === undefined || owners.includes(provider)) continue;
    const source = sourcesOf(key).join(', ') || 'the default';
    const message = `${flag} is an option of ${owners.join(' and ')}, but the provider is ${provider} (${source}); choose with --provider`;
    throw new ToolError(message, exitCodes.usage);
  }
}

const ownKeys = [
  table.service.environment,
  table.service.dataDirectory,
  ...Object.values(table.canonicalStore),
  ...Object.values(table.firestore),
  table.execution.artifactDirectory,
  table.execution.artifactObjectContainer,
].map(({ key }) => key);
const otherKeys = lines
  .map(({ key }) => key.toLowerCase())
  .filter((key) => !ownKeys.some((own) => own.toLowerCase() === key));

/**
 * Whether the fault could change which database is used. Access settings cannot; an unknown key can, because it may
 * be a misspelt database setting.
 */
function bears({ key, source }: Fault, { settings, sourcesOf }: ReadSettings): boolean {
  const name = key.toLowerCase();
  if (otherKeys.some((other) => name === other || name.startsWith(`${other}:`))) return false;
  // Ignore configured settings of another provider than the one the options select.
  const chosen = sourcesOf(table.canonicalStore.provider.key).includes(commandLine);
  const takesNone = !['postgresql', 'mysql'].includes(settings.canonicalStore.provider);
  const { connectionString } = table.canonicalStore;
  return !(key === connectionString.key && chosen && takesNone && source !== commandLine);
}
