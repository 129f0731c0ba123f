import { distance } from '../kernel/near-names.ts';
import type { Fault } from './fault.ts';
import type { KindReading } from './kinds.ts';
import { type Entry, Node } from './node.ts';
import { crossFaults } from './rules.ts';
import { fallbackOf, type Given, type Host, type Setting } from './setting.ts';
import {
  fromArguments,
  fromFile,
  fromShortVariables,
  fromVariables,
  type SourceEntries,
  shallow,
} from './sources.ts';
import { lines, type Settings, table } from './table.ts';

export interface ConfigurationInput {
  readonly host: Host;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Arguments after the name of the script. */
  readonly argv: readonly string[];
  /** Reads a file; `undefined` if it does not exist. */
  readonly readFile: (path: string) => string | undefined;
}

export type Configuration =
  | { readonly settings: Settings; readonly faults: readonly [] }
  | { readonly settings: undefined; readonly faults: readonly Fault[] };

/**
 * Reads every source and returns typed settings, or every fault in them. Pure: the input holds all that it reads. The later
 * source wins: defaults, `svcsettings.json`, `svcsettings.{Environment}.json`, the
 * environment (short names, then `Section__Key`), the command line.
 */
export function loadConfiguration(input: ConfigurationInput): Configuration {
  const { settings, faults } = readSettings(input);
  return faults.length > 0 ? { settings: undefined, faults } : { settings, faults: [] };
}

/** The settings, even where the configuration has faults, and the sources of each. */
export interface ReadSettings {
  readonly settings: Settings;
  readonly faults: readonly Fault[];
  /** The sources of a setting; empty for a default. */
  readonly sourcesOf: (key: string) => readonly string[];
  /** The secret values that the sources hold, by their keys. */
  readonly secrets: readonly GivenSecret[];
}

export interface GivenSecret {
  readonly key: string;
  readonly source: string;
}

export function readSettings(input: ConfigurationInput): ReadSettings {
  const root = new Node();
  const faults: Fault[] = [];
  const given = layer(root, input, faults);
  const taken = new Set<Entry>();
  const settings = readTable(root, given, taken, faults);
  faults.push(...unknownFaults([...root.entries()].filter((entry) => !taken.has(entry))));
  faults.push(...crossFaults(settings, input.host, (key) => sourcesOf(root, key)[0]));
  return {
    settings,
    faults: relevant(faults, settings),
    sourcesOf: (key) => sourcesOf(root, key),
    secrets: lines.flatMap((line) => secretsOf(root, line)),
  };
}

/** Merges all sources into `root` and returns the facts that defaults depend on. */
function layer(root: Node, input: ConfigurationInput, faults: Fault[]): Given {
  const { argv, path, faults: pathFaults } = settingsPath(input);
  faults.push(...pathFaults);
  const file = readSource(input, path ?? 'svcsettings.json', path !== undefined);
  const variables = [fromShortVariables(input.env), fromVariables(input.env), fromArguments(argv)].map(
    shallow,
  );
  const sources = [file, ...variables];
  // The environment name selects the overlay file, so it is read before the overlay is merged.
  const draft = new Node();
  for (const [rank, source] of sources.entries())
    for (const entry of source.entries) draft.put({ ...entry, rank });
  const word = draft.at(table.service.environment.key)?.entry?.value.trim();
  const environment =
    environmentName(word) ?? fallbackOf(table.service.environment, { environment: '', host: input.host });
  const overlay = readSource(input, overlayPath(path ?? 'svcsettings.json', environment), false);
  const own = overlay.entries.find(
    (entry) => entry.key.toLowerCase() === table.service.environment.key.toLowerCase(),
  );
  if (own !== undefined) {
    faults.push({ key: own.key, source: own.source, message: 'cannot be set by the file that it selects' });
  }
  for (const [rank, source] of [file, overlay, ...variables].entries()) {
    faults.push(...source.faults);
    for (const entry of source.entries) {
      const rival = root.put({ ...entry, rank });
      if (rival === undefined) continue;
      const names = `${rival.source === entry.source ? rival.key : rival.source} has another value`;
      faults.push({ key: entry.key, source: entry.source, message: `is given twice: ${names}` });
    }
  }
  return { environment, host: input.host };
}

/** Removes `--settings` from the arguments: it is not a setting, it names the file of settings. */
function settingsPath(input: ConfigurationInput): {
  argv: string[];
  path: string | undefined;
  faults: Fault[];
} {
  const argv = [...input.argv];
  let path = input.env.SVC_SETTINGS?.trim() || undefined;
  const faults: Fault[] = [];
  const at = argv.findIndex((argument) => /^--settings(=|$)/i.test(argument));
  if (at >= 0) {
    const [argument = ''] = argv.splice(at, 1);
    const joined = argument.indexOf('=');
    path = joined >= 0 ? argument.slice(joined + 1) : argv.splice(at, 1)[0];
    if (path === undefined || path === '' || path.startsWith('--')) {
      faults.push({ key: 'settings', source: 'command line', message: 'needs the path of a file' });
      path = undefined;
    }
  }
  return { argv, path, faults };
}

function overlayPath(path: string, environment: string): string {
  return path.replace(/(\.json)?$/i, `.${environment}.json`);
}

function readSource(input: ConfigurationInput, path: string, required: boolean): SourceEntries {
  const fault = (message: string) => ({ entries: [], faults: [{ key: path, source: path, message }] });
  let text: string | undefined;
  try {
    text = input.readFile(path);
  } catch (error) {
    return fault(`cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown reason'}`);
  }
  if (text === undefined) return required ? fault('does not exist') : { entries: [], faults: [] };
  return shallow(fromFile(path, text));
}

/** The environment name. The case of Development does not matter, because that name opens the service. */
function environmentName(word: string | undefined): string | undefined {
  if (word === undefined || !/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(word)) return undefined;
  return ['Development', 'Production'].find((known) => known.toLowerCase() === word.toLowerCase()) ?? word;
}

function readTable(root: Node, given: Given, taken: Set<Entry>, faults: Fault[]): Settings {
  const groups = Object.entries(
    table as { readonly [name: string]: { readonly [name: string]: Setting<unknown> } },
  );
  const settings = Object.fromEntries(
    groups.map(([name, group]) => [
      name,
      Object.fromEntries(
        Object.entries(group).map(([member, line]) => [member, readLine(line, root, given, taken, faults)]),
      ),
    ]),
  ) as unknown as Settings;
  return { ...settings, service: { ...settings.service, environment: given.environment } };
}

function readLine(
  line: Setting<unknown>,
  root: Node,
  given: Given,
  taken: Set<Entry>,
  faults: Fault[],
): unknown {
  const node = root.at(line.key);
  if (node === undefined) return fallbackOf(line, given);
  // A setting below this one stands before it in the table.
  const own = [...node.entries()].filter((entry) => !taken.has(entry));
  const reading: KindReading = {
    take: (entry) => taken.add(entry),
    refuse: (entry, message) => faults.push({ key: entry.key, source: entry.source, message }),
  };
  const value = line.kind.read(node, reading);
  const ranks = new Map(own.map((entry) => [entry.rank, entry]));
  if (line.kind.oneSource && ranks.size > 1) {
    const sources = [...ranks.values()].map((entry) => entry.source).join(', ');
    const message =
      'comes from several sources, which would be mixed item by item; set the whole list in one';
    faults.push({ key: line.key, source: sources, message });
  }
  return value === undefined ? fallbackOf(line, given) : value;
}

/** Each hint compares the key with every known one: a file with very many unknown keys would take minutes. */
const unknownMax = 100;
const keyCharactersMax = 256;

function unknownFaults(entries: readonly Entry[]): Fault[] {
  const faults = entries.slice(0, unknownMax).map(unknown);
  const left = entries.slice(unknownMax);
  const [next] = left;
  if (next === undefined) return faults;
  const { key, source } = next;
  const others = left.length === 1 ? '' : `, and ${left.length - 1} more after it`;
  return [...faults, { key, source, message: `is not known${others}; the first ${unknownMax} are listed` }];
}

function unknown(entry: Entry): Fault {
  const { source } = entry;
  // No known key is that long; the comparison takes the product of both lengths.
  if (entry.key.length > keyCharactersMax) {
    return { key: `${entry.key.slice(0, keyCharactersMax)}…`, source, message: 'is not known' };
  }
  const shape = entry.key.replace(/:\d+(?=:|$)/g, ':<n>');
  const known = lines.flatMap((line) => line.kind.tails.map((tail) => `${line.key}${tail}`));
  const ranked = known.map((key) => ({ key, far: distance(key, shape) })).sort((a, b) => a.far - b.far);
  const nearest = ranked[0];
  const near = nearest !== undefined && nearest.far <= Math.max(3, Math.floor(shape.length / 3));
  const hint = near ? `; did you mean ${nearest.key}?` : '';
  return { key: entry.key, source, message: `is not known${hint}` };
}

function sourcesOf(root: Node, key: string): readonly string[] {
  return [...new Set([...(root.at(key)?.entries() ?? [])].map(({ source }) => source))];
}

/** A member next to a secret, such as the name of a file, is no secret itself. */
function secretsOf(root: Node, { key, kind }: Setting<unknown>): GivenSecret[] {
  const places = new Set(kind.secretTails.map((tail) => `${key}${tail}`.toLowerCase()));
  const entries = places.size === 0 ? [] : [...(root.at(key)?.entries() ?? [])];
  return entries
    .filter((entry) => places.has(entry.key.toLowerCase().replace(/:\d+(?=:|$)/g, ':<n>')))
    .filter(({ hollow }) => hollow !== true)
    .map(({ key: own, source }) => ({ key: own, source }));
}

/** A disabled store has no provider, so a fault in the provider's name does not matter. */
function relevant(faults: readonly Fault[], settings: Settings): readonly Fault[] {
  if (settings.canonicalStore.enabled) return faults;
  return faults.filter(
    (fault) => fault.key.toLowerCase() !== table.canonicalStore.provider.key.toLowerCase(),
  );
}
