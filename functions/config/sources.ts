import { distance } from '../kernel/near-names.ts';
import { repeatedMember } from '../kernel/repeated-member.ts';
import type { Fault } from './fault.ts';
import { type Entry, emptyList } from './node.ts';
import { lines, sections } from './table.ts';

/** The entries of one source, and the faults in it. */
export interface SourceEntries {
  readonly entries: readonly Omit<Entry, 'rank'>[];
  readonly faults: readonly Fault[];
}

/** No setting is deeper than this, counted in names and positions. Readers of the tree recurse. */
const levelsMax = 16;

/** Drops the keys that are deeper than any setting. One fault stands for all of them. */
export function shallow({ entries, faults }: SourceEntries): SourceEntries {
  const deep = entries.find((entry) => isTooDeep(entry.key));
  if (deep === undefined) return { entries, faults };
  const key = deep.key.split(':', 3).join(':');
  const message = `nests deeper than ${levelsMax} levels, and no setting does`;
  return {
    entries: entries.filter((entry) => !isTooDeep(entry.key)),
    faults: [...faults, { key, source: deep.source, message }],
  };
}

function isTooDeep(key: string): boolean {
  return key.split(':', levelsMax + 1).length > levelsMax;
}

/** The leaves of a settings file. `null` and empty texts count as absent, unless they are items of a list. */
export function fromFile(name: string, text: string): SourceEntries {
  const plain = text.replace(/^\uFEFF/, '');
  let document: unknown;
  try {
    document = JSON.parse(plain);
  } catch (error) {
    // The engine's message quotes the text around the fault, which may be a secret: keep only the position.
    const place = /line \d+ column \d+/.exec(error instanceof Error ? error.message : '');
    const where = place === null ? '' : ` (${place[0]})`;
    return { entries: [], faults: [{ key: name, source: name, message: `is not valid JSON${where}` }] };
  }
  if (typeof document !== 'object' || document === null || Array.isArray(document)) {
    return { entries: [], faults: [{ key: name, source: name, message: 'must be a JSON object' }] };
  }
  const entries: Omit<Entry, 'rank'>[] = [];
  for (const [member, value] of Object.entries(document)) {
    // Editors find the schema of the file by this member.
    if (member !== '$schema') flatten(member, value, name, entries);
  }
  const repeated = repeatedMember(plain, (member) => member.toLowerCase());
  if (repeated === undefined) return { entries, faults: [] };
  const message = 'is given twice in one object, of which JSON keeps the last';
  return { entries, faults: [{ key: ownKey(repeated.join(':')), source: name, message }] };
}

function flatten(key: string, value: unknown, source: string, into: Omit<Entry, 'rank'>[]): void {
  const named = { key: ownKey(key), source };
  if (isTooDeep(key)) {
    into.push({ ...named, value: '{}', hollow: true });
  } else if (value === null || value === undefined || value === '') {
    if (isItem(key)) into.push({ ...named, value: '' });
  } else if (typeof value !== 'object') {
    into.push({ ...named, value: typeof value === 'string' ? value : JSON.stringify(value) });
  } else if (Object.keys(value).length > 0) {
    for (const [member, item] of Object.entries(value)) flatten(`${key}:${member}`, item, source, into);
  } else if (Array.isArray(value) || isItem(key) || isPlace(key)) {
    // An empty object that only groups settings has no effect.
    into.push({ ...named, value: Array.isArray(value) ? emptyList : '{}', hollow: true });
  }
}

/**
 * Whether the key names an item of a list. A blank item is kept and then refused: where an empty list restricts nothing,
 * dropping the only item would turn a restriction into a grant of everything.
 */
function isItem(key: string): boolean {
  return /:\d+$/.test(key);
}

/** Every key that may hold a value, with `<n>` for an index. */
const places: ReadonlySet<string> = new Set(
  lines
    .flatMap(({ key, kind }) => [key, ...kind.tails.map((tail) => key + tail)])
    .flatMap((place) => [place, place.replace(/:<n>$/, '')])
    .map((place) => place.toLowerCase()),
);

function isPlace(key: string): boolean {
  return places.has(
    ownKey(key)
      .toLowerCase()
      .replace(/:\d+(?=:|$)/g, ':<n>'),
  );
}

/** `Svc:CanonicalStore:Enabled` is another name of `CanonicalStore:Enabled`. */
function ownKey(key: string): string {
  const bare = key.replace(/^svc:/i, '');
  // A key of an unknown section keeps its written name, so that the fault quotes it.
  return bare !== key && isOurs(bare) ? bare : key;
}

function isOurs(key: string): boolean {
  return sections.has(key.split(':', 1).join('').toLowerCase());
}

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Variables with our prefix that other programs read: the clients (`SVC_BASE_URL`, `SVC_SERVER`, `SVC_IDENTITY_TOKEN`),
 * workers, this project's tests, and those that Kubernetes sets in every container for a service named `svc` or `svc-…`.
 */
const foreign = [
  /^SVC_((BASE_URL|SERVER|IDENTITY_TOKEN)$|HOSTED_WORKER_)/,
  /_SERVICE_(HOST|PORT)$/,
  /_SERVICE_PORT_/,
  /_PORT_\d{1,5}_(TCP|UDP|SCTP)(_|$)/,
];
const serviceLink = /^(tcp|udp|sctp):\/\//;

/**
 * The short names, such as `PORT`. An unknown name that starts with `SVC_` is a fault: it looks like a setting and
 * would have no effect.
 */
export function fromShortVariables(env: Variables): SourceEntries {
  const keys = new Map(lines.flatMap((line) => line.variables.map((name) => [name.toUpperCase(), line.key])));
  const entries: Omit<Entry, 'rank'>[] = [];
  const faults: Fault[] = [];
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || value.trim() === '') continue;
    const source = `environment variable ${name}`;
    const upper = name.toUpperCase();
    const key = keys.get(upper);
    if (key !== undefined) entries.push({ key, value, source });
    else if (upper.startsWith('SVC_') && upper !== 'SVC_SETTINGS' && isSetting(upper, value)) {
      faults.push({ key: name, source, message: `is not known${hintFor(upper, [...keys.keys()])}` });
    }
  }
  return { entries, faults };
}

function isSetting(upper: string, value: string): boolean {
  // `SVC__Section__Key` is a long name and is read as one.
  if (upper.startsWith('SVC__') || foreign.some((pattern) => pattern.test(upper))) return false;
  return !(upper.endsWith('_PORT') && serviceLink.test(value));
}

/** The short or long name that the operator probably meant: `SVC_REQUIRE_API_KEY` is `Server__RequireApiKey`. */
function hintFor(upper: string, shortNames: readonly string[]): string {
  const near = shortNames.find((known) => distance(known, upper) <= 2);
  const word = upper.replace(/^SVC_/, '').replaceAll('_', '').toLowerCase();
  const line = lines.find(({ key }) => key.replaceAll(':', '').toLowerCase().endsWith(word));
  const meant = near ?? line?.key.replaceAll(':', '__');
  return meant === undefined ? '' : `; did you mean ${meant}?`;
}

/** The names with two underscores, such as `Server__Port`, or with the colon itself on platforms that allow it. */
export function fromVariables(env: Variables): SourceEntries {
  const entries: Omit<Entry, 'rank'>[] = [];
  for (const [name, value] of Object.entries(env)) {
    const written = name.replaceAll('__', ':');
    const key = ownKey(written);
    if (!written.includes(':') || !(isOurs(key) || /^svc:/i.test(key)) || value === undefined) continue;
    if (value.trim() !== '' || isItem(key))
      entries.push({ key, value, source: `environment variable ${name}` });
  }
  return { entries, faults: [] };
}

const source = 'command line';

/** `--Key=value` and `--Key value`. */
export function fromArguments(argv: readonly string[]): SourceEntries {
  const keys = new Map(
    lines.flatMap((line) => (line.option === undefined ? [] : [[line.option, line.key] as const])),
  );
  const entries: Omit<Entry, 'rank'>[] = [];
  const faults: Fault[] = [];
  for (let at = 0; at < argv.length; at += 1) {
    const argument = argv[at] ?? '';
    const option = /^--([^=]+)(?:=(.*))?$/s.exec(argument);
    if (option === null) {
      faults.push(wordFault(argument, at));
      continue;
    }
    const [, name = '', joined] = option;
    const next = argv[at + 1];
    const value = joined ?? (next === undefined || next.startsWith('--') ? undefined : next);
    if (joined === undefined && value !== undefined) at += 1;
    if (value === undefined) faults.push(valueFault(name, keys));
    else if (value.trim() !== '' || isItem(name))
      entries.push({ key: keys.get(name.toLowerCase()) ?? ownKey(name), value, source });
  }
  return { entries, faults };
}

/** The words that start the server in another way, as its `--help` lists them. */
const commands = new Map([
  ['dev', 'dev'],
  ['help', '--help'],
  ['version', '--version'],
]);

/** The fault of a word that is neither an option nor its value. */
function wordFault(word: string, at: number): Fault {
  // Any other word is not quoted: it may be a secret whose option name was forgotten.
  const near =
    at === 0 ? [...commands].find(([command]) => distance(command, word.slice(0, 20)) <= 1) : undefined;
  if (near === undefined)
    return { key: `argument ${at + 1}`, source, message: 'options are written --Key=value' };
  return { key: source, source, message: `unknown command ${word}; did you mean ${near[1]}?` };
}

/** The fault of an option without a value. */
function valueFault(name: string, options: ReadonlyMap<string, string>): Fault {
  if (options.has(name.toLowerCase()) || isPlace(name))
    return { key: name, source, message: 'needs a value: --Key=value' };
  return { key: source, source, message: `unknown option --${name.slice(0, 64)} (--help lists them)` };
}
