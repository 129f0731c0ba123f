import { globSync, readFileSync } from 'node:fs';
import { type Attack, type AttackState, attacks } from './attacks.ts';

/** Where each attack is tested: by its id in the title of a test, or in a row of a table of tests. */

// One alternative after the other, so that a slash in a string begins no comment and a quote in a comment no string.
const token =
  /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`|(?<=[(,=:[!&|?{;]\s*)\/(?![*/])(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/g;
const quoted = /^['"`]/;
const range = /\b([A-P])([0-9]{2})(?:-([A-P])([0-9]{2}))?\b/g;

/** The ids in the strings of a source text; `E01-E03` stands for three of them. */
export function idsIn(text: string): Set<string> {
  const ids = new Set<string>();
  for (const [part] of text.matchAll(token)) {
    if (!quoted.test(part)) continue;
    for (const [, letter = '', from = '', end, to] of part.matchAll(range)) {
      const last = end === letter && to !== undefined ? Number(to) : Number(from);
      for (let number = Number(from); number <= last; number += 1) {
        ids.add(`${letter}${String(number).padStart(2, '0')}`);
      }
    }
  }
  return ids;
}

export interface Occurrences {
  /** Id to the files in whose tests it occurs. */
  readonly tests: ReadonlyMap<string, readonly string[]>;
  readonly benches: ReadonlyMap<string, readonly string[]>;
}

const sources = ['contracts', 'functions', 'emulator', 'cli', 'scripts', 'test'];

export function occurrences(root: string): Occurrences {
  const files = globSync(
    sources.map((folder) => `${folder}/**/*.ts`),
    { cwd: root },
  ).map((path) => path.replaceAll('\\', '/'));
  const suites = files.filter(
    (path) => path.endsWith('.test.ts') || /^test\/(conformance|wire)\//.test(path),
  );
  // This list and its own test name ids that they do not test.
  const tests = suites.filter((path) => !path.startsWith('test/security/registry'));
  return {
    tests: found(root, tests, idsIn),
    // A bench has no titles; its comment says what it measures.
    benches: found(
      root,
      files.filter((path) => path.startsWith('test/bench/')),
      (text) => new Set(text.match(/\b[A-P][0-9]{2}\b/g) ?? []),
    ),
  };
}

function found(root: string, files: readonly string[], idsOf: (text: string) => Set<string>) {
  const places = new Map<string, string[]>();
  for (const file of files.toSorted()) {
    for (const id of idsOf(readFileSync(`${root}/${file}`, 'utf8')))
      places.set(id, [...(places.get(id) ?? []), file]);
  }
  return places;
}

/** The contradictions between the list and the tests, a sentence each. */
export function attackFaults({ tests, benches }: Occurrences, list: readonly Attack[] = attacks): string[] {
  return list.flatMap(({ id, state, reason }) => {
    const named = tests.get(id);
    if (state !== 'tested' && reason === undefined) return [`${id} does not say why it is no test`];
    // A test checks that the documents name each step of the release.
    const needsTest = state === 'tested' || state === 'release step';
    if (needsTest && named === undefined) return [`${id} is ${state}, and no test names it`];
    if (state === 'later' && named !== undefined)
      return [`${id} is for later, and is tested: ${named.join(', ')}`];
    if (state === 'benchmark' && !benches.has(id)) return [`${id} is a benchmark, and no bench names it`];
    return [];
  });
}

export function countsByState(): Record<AttackState, number> {
  const counts = { tested: 0, benchmark: 0, 'release step': 0, later: 0 };
  for (const { state } of attacks) counts[state] += 1;
  return counts;
}

/** The list as a table in Markdown: id, attack, state, and where or why. */
export function attackTable({ tests, benches }: Occurrences, list: readonly Attack[] = attacks): string {
  const rows = list.map(({ id, what, state, reason }) => {
    const files = (state === 'benchmark' ? benches : tests).get(id) ?? [];
    const places = files.map((file) => `\`${file}\``).join(', ');
    const where = state === 'tested' ? places : [reason ?? '', places].filter(Boolean).join(': ');
    return `| ${id} | ${what.replaceAll('|', '\\|')} | ${state} | ${where} |`;
  });
  return ['| Id | Attack | State | Where, or why not |', '|---|---|---|---|', ...rows, ''].join('\n');
}
