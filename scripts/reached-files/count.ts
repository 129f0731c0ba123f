import { posix } from 'node:path';
import { importsOf } from '../../test/structure.ts';

/** The text of a file by its path from the root, with `/`; `undefined` where there is none. */
export type ReadText = (path: string) => string | undefined;

/**
 * The files that `path` needs before it runs, itself included: those that its static imports of values reach. An `import type` is
 * erased, and an `import()` loads its file when a call needs it. Generated files, packages and data are left out.
 */
export function reachedFrom(paths: readonly string[], textOf: ReadText): string[] {
  const reached = new Set(paths);
  for (const path of reached) {
    for (const target of valueImports(path, textOf(path) ?? '')) {
      if (/\.m?ts$/.test(target) && !target.includes('/generated/')) reached.add(target);
    }
  }
  return [...reached].sort();
}

function valueImports(path: string, text: string): string[] {
  return importsOf(text)
    .filter(({ specifier, dynamic, typeOnly }) => specifier.startsWith('.') && !dynamic && !typeOnly)
    .map(({ specifier }) => posix.join(posix.dirname(path), specifier));
}

const importClause = /^import \{([^}]*)\} from '(\.[^']+)';/gm;
const constant = /^ +const (\w+) = ([^;]*);/gm;
const handler = /(?:^ +|return \{ )(\w+): ([^;\n]*?),?(?: \};)?$/gm;

/**
 * The files that make each handler of a group, by operation. The `handlers.ts` of a group returns one object with a line for each
 * operation; a name in that line is an import, or a constant of the same file that is made of imports.
 */
export function handlerFiles(path: string, text: string): ReadonlyMap<string, readonly string[]> {
  const files = new Map<string, string>();
  for (const [, names = '', specifier = ''] of text.matchAll(importClause)) {
    for (const name of names.split(',').map((each) => each.trim())) {
      const [, local = ''] = /(?:^| as )(\w+)$/.exec(name) ?? [];
      if (local !== '') files.set(local, posix.join(posix.dirname(path), specifier));
    }
  }
  const constants = new Map([...text.matchAll(constant)].map(([, name = '', value = '']) => [name, value]));
  const filesOf = (expression: string): string[] =>
    (expression.match(/\w+/g) ?? []).flatMap((name) => {
      const file = files.get(name);
      if (file !== undefined) return [file];
      const value = constants.get(name);
      return value === undefined ? [] : filesOf(value);
    });
  const body = text.slice(text.indexOf('return {'));
  return new Map(
    [...body.matchAll(handler)].map(([, operation = '', expression = '']) => [
      operation,
      [...new Set(filesOf(expression))],
    ]),
  );
}

/** The largest number of files that each operation may reach. */
export interface Ceilings {
  /** For an operation without an entry of its own, such as a new one. */
  readonly otherwise: number;
  readonly operations: Readonly<Record<string, number>>;
}

/** The ceilings lowered to what is reached now. None rises, and an operation that is gone loses its entry. */
export function loweredCeilings(counts: ReadonlyMap<string, number>, ceilings: Ceilings): Ceilings {
  const lowered = [...counts].map(([operation, count]): [string, number] => [
    operation,
    Math.min(count, ceilings.operations[operation] ?? ceilings.otherwise),
  ]);
  return { otherwise: ceilings.otherwise, operations: Object.fromEntries(lowered.sort(byName)) };
}

function byName([a]: readonly [string, number], [b]: readonly [string, number]): number {
  return a < b ? -1 : 1;
}
