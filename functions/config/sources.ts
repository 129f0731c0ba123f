import type { Fault } from './fault.ts';
import type { Entry } from './node.ts';
import { lines, sections } from './table.ts';

/** What one source says, and what in it cannot be understood at all. */
export interface Said {
  readonly entries: readonly Omit<Entry, 'rank'>[];
  readonly faults: readonly Fault[];
}

/** The leaves of a settings file. `null` and empty texts say nothing. */
export function fromFile(name: string, text: string): Said {
  let document: unknown;
  try {
    document = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    // The engine's message quotes the text around the fault, which may be a key; only the place is passed on.
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
  return { entries, faults: [] };
}

function flatten(key: string, value: unknown, source: string, into: Omit<Entry, 'rank'>[]): void {
  if (value === null || value === undefined || value === '') return;
  if (typeof value === 'object') {
    for (const [member, item] of Object.entries(value)) flatten(`${key}:${member}`, item, source, into);
  } else into.push({ key, value: typeof value === 'string' ? value : JSON.stringify(value), source });
}

type Variables = Readonly<Record<string, string | undefined>>;

/** The short names, such as `PORT`. */
export function fromShortVariables(env: Variables): Said {
  const keys = new Map(lines.flatMap((line) => line.variables.map((name) => [name.toUpperCase(), line.key])));
  const entries: Omit<Entry, 'rank'>[] = [];
  const faults: Fault[] = [];
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || value.trim() === '') continue;
    const source = `environment variable ${name}`;
    const upper = name.toUpperCase();
    const key = keys.get(upper);
    if (key !== undefined) entries.push({ key, value, source });
    else if (upper.startsWith('SVC_')) {
      // Clients of the service have variables of this prefix too, so only what looks misspelt is refused.
      const meant = [...keys.keys()].find((known) => distance(known, upper) <= 2);
      if (meant !== undefined)
        faults.push({ key: name, source, message: `is not known; did you mean ${meant}?` });
    }
  }
  return { entries, faults };
}

/** The names with two underscores, such as `Server__Port`. */
export function fromVariables(env: Variables): Said {
  const entries: Omit<Entry, 'rank'>[] = [];
  for (const [name, value] of Object.entries(env)) {
    const key = name.replaceAll('__', ':');
    const section = key.split(':', 1).join('').toLowerCase();
    if (key === name || !sections.has(section) || value === undefined || value.trim() === '') continue;
    entries.push({ key, value, source: `environment variable ${name}` });
  }
  return { entries, faults: [] };
}

/** `--Key=value` and `--Key value`. */
export function fromArguments(argv: readonly string[]): Said {
  const keys = new Map(
    lines.flatMap((line) => (line.option === undefined ? [] : [[line.option, line.key] as const])),
  );
  const entries: Omit<Entry, 'rank'>[] = [];
  const faults: Fault[] = [];
  const source = 'command line';
  for (let at = 0; at < argv.length; at += 1) {
    const argument = argv[at] ?? '';
    const option = /^--([^=]+)(?:=(.*))?$/s.exec(argument);
    if (option === null) {
      // Not quoted: it may be a secret whose option was forgotten.
      faults.push({ key: `argument ${at + 1}`, source, message: 'options are written --Key=value' });
      continue;
    }
    const [, name = '', joined] = option;
    const next = argv[at + 1];
    const value = joined ?? (next === undefined || next.startsWith('--') ? undefined : next);
    if (joined === undefined && value !== undefined) at += 1;
    if (value === undefined) faults.push({ key: name, source, message: 'needs a value: --Key=value' });
    else if (value.trim() !== '') entries.push({ key: keys.get(name.toLowerCase()) ?? name, value, source });
  }
  return { entries, faults };
}

/** Levenshtein's distance, whatever the case. */
export function distance(left: string, right: string): number {
  const a = left.toLowerCase();
  const b = right.toLowerCase();
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
