import { posix } from 'node:path';
import { withoutComments } from './structure.ts';

/** Exports with the tag `@testonly`: tests import them, and the product uses them in their own file. Pure rules over texts by path. */

type Texts = ReadonlyMap<string, string>;

const tag = /\/\*\*(?:(?!\*\/)[\s\S])*?@testonly\b(?:(?!\*\/)[\s\S])*?\*\/\s*([^\n]*)/g;
const declaration =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:class|interface|type|const|let|enum|function\*?) (\w+)/;
const named = /\b(?:import|export)\s+(?:type\s+)?\{([^}]*)\}\s*from\s*'([^']+)'/g;
const whole = /\bimport\s+(?:type\s+)?\*\s+as\s+\w+\s+from\s*'([^']+)'|\bimport\(\s*'([^']+)'/g;

/** The names that have the tag; for a tag before another line, that line. */
export function taggedIn(text: string): string[] {
  return [...text.matchAll(tag)].map(([, line = '']) => declaration.exec(line)?.[1] ?? line);
}

/** The faults of all tags in `product`: no test imports the name, or its own file does not use it. */
export function tagFaults(product: Texts, tests: Texts): string[] {
  const imported = importedBy(tests);
  return [...product].flatMap(([path, text]) =>
    taggedIn(text).flatMap((name) => {
      if (!/^\w+$/.test(name)) return [`${path}: the tag stands before no export`];
      const faults: string[] = [];
      if (!imported(path, name)) faults.push(`${path}: no test imports ${name}`);
      if (!isUsedIn(text, name)) faults.push(`${path}: only tests use ${name}`);
      return faults;
    }),
  );
}

/** Whether code outside of the declaration names it. A function that calls itself is not used by that. */
function isUsedIn(text: string, name: string): boolean {
  const statements = codeOf(text).split(/\n(?=[A-Za-z@])/);
  const own = new RegExp(String.raw`\b${name}\b`);
  return statements.some((each) => declaration.exec(each)?.[1] !== name && own.test(each));
}

function codeOf(text: string): string {
  return withoutComments(text).replaceAll(/'(?:[^'\\\n]|\\.)*'/g, "''");
}

function importedBy(tests: Texts): (path: string, name: string) => boolean {
  const names = new Map<string, Set<string>>();
  const wholes = new Map<string, string[]>();
  for (const [path, text] of tests) {
    const target = (specifier = '') => posix.join(posix.dirname(path), specifier);
    for (const [, list = '', specifier] of text.matchAll(named)) {
      const known = names.get(target(specifier)) ?? new Set();
      for (const each of list.split(','))
        known.add(
          each
            .trim()
            .replace(/^type\s+/, '')
            .split(/\s/)[0] ?? '',
        );
      names.set(target(specifier), known);
    }
    for (const [, fixed, dynamic] of text.matchAll(whole)) {
      wholes.set(target(fixed ?? dynamic), [...(wholes.get(target(fixed ?? dynamic)) ?? []), text]);
    }
  }
  return (path, name) =>
    (names.get(path)?.has(name) ?? false) ||
    (wholes.get(path) ?? []).some((text) => new RegExp(String.raw`\b${name}\b`).test(text));
}
