import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** One name of a declaration file. A class may have an interface of the same name, which adds members. */
export interface Declaration {
  readonly name: string;
  /** The declaration file, from which its base types are resolved. */
  readonly file: string;
  /** The lines of each part: the class first. */
  readonly parts: readonly (readonly string[])[];
}

export interface Export {
  readonly declaration: Declaration;
  /** A type-only export: callers cannot call its constructor. */
  readonly isType: boolean;
}

const LOCAL = /^export (?:declare )?(?:abstract )?(?:class|interface|type|const|let|function) ([\w$]+)/;

/** The exported declarations of a file, by name. */
export function declarationsOf(file: string): ReadonlyMap<string, Declaration> {
  const found = new Map<string, string[][]>();
  let open: string[] | null = null;
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    const name = LOCAL.exec(line)?.[1];
    if (name !== undefined) found.set(name, [...(found.get(name) ?? []), (open = [])]);
    open?.push(line);
    if (/^\S/.test(line) && (line === '}' || line.endsWith(';'))) open = null;
  }
  return new Map([...found].map(([name, parts]) => [name, { name, file, parts }]));
}

/** All exports of an entry: its own declarations and the files that it exports from. */
export function exportsOf(entry: string): ReadonlyMap<string, Export> {
  const found = new Map<string, Export>();
  for (const [name, declaration] of declarationsOf(entry)) found.set(name, { declaration, isType: false });
  const places = readFileSync(entry, 'utf8').matchAll(
    /^export (type )?(?:\*|\{([^}]*)\}) from '(\.[^']+)\.ts';$/gm,
  );
  for (const [, type, list, path = ''] of places) {
    const all = exportsOf(join(dirname(entry), `${path}.d.ts`));
    for (const name of list === undefined ? all.keys() : namesOf(list)) {
      const each = all.get(name);
      if (each === undefined) throw new Error(`${path} declares no ${name}`);
      found.set(name, { ...each, isType: each.isType || type !== undefined });
    }
  }
  return found;
}

/** The classes and interfaces that a declaration extends, if the package declares them. */
export function basesOf({ parts, file }: Declaration, kind: 'all' | 'class' = 'all'): readonly Declaration[] {
  return parts
    .map(([head = '']) => head)
    .filter((head) => kind === 'all' || / class /.test(head))
    .flatMap((head) => namesOf(/ extends ([^{]*)/.exec(head)?.[1] ?? ''))
    .flatMap((name) => located(name, file) ?? []);
}

function located(name: string, file: string): Declaration | undefined {
  const imports = readFileSync(file, 'utf8').matchAll(
    /^import (?:type )?\{([^}]*)\} from '(\.[^']+)\.ts';$/gm,
  );
  for (const [, list = '', path = ''] of imports) {
    const from = join(dirname(file), `${path}.d.ts`);
    if (existsSync(from) && namesOf(list.replaceAll('type ', '')).includes(name))
      return declarationsOf(from).get(name);
  }
  return declarationsOf(file).get(name);
}

function namesOf(list: string): readonly string[] {
  return list
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}
