/**
 * Writes what callers of the SDKs can name, one member a line: `sdk/typescript/surface.txt`, of the declarations that are
 * published, and `sdk/python/surface.txt`. A release keeps both, and later ones are held against them
 * (`test/release.test.ts`). With `--check` it changes nothing, and fails where a file differs from what it would write.
 *
 *     node scripts/sdk-surface.ts [--check]
 *
 * Without a Python the list of Python stays as it is; the tests of that SDK hold it against the source.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const root = resolve(import.meta.dirname, '..');

/** Of the sources in this folder. */
export function typescriptSurface(project = join(root, 'sdk/typescript')): string {
  const declarations = mkdtempSync(join(tmpdir(), 'sdk-surface-'));
  try {
    // What the sources say, whether or not it is sound: that is told elsewhere.
    const emitted = ['--noCheck', '--emitDeclarationOnly', '--removeComments', '--outDir', declarations];
    // A copy of the sources in a folder of its own finds no types beside it.
    emitted.push('--typeRoots', join(root, 'node_modules/@types'));
    const tsc = spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', project, ...emitted], {
      encoding: 'utf8',
    });
    if (tsc.status !== 0) throw new Error(`tsc: ${tsc.stdout}${tsc.stderr}`);
    return text([...exported(declarations), ...exported(join(declarations, 'worker'))]);
  } finally {
    rmSync(declarations, { recursive: true, force: true });
  }
}

/** `null` without a Python. */
export function pythonSurface(sources = join(root, 'sdk/python/src/svc_client')): string | null {
  const script = join(root, 'sdk/python/tests/public_surface.py');
  const { status, stdout, stderr, error } = spawnSync('python3', ['-B', script, sources], {
    encoding: 'utf8',
  });
  if (error !== undefined) return null;
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

function text(lines: readonly string[]): string {
  return `${[...new Set(lines)].toSorted().join('\n')}\n`;
}

/** Whatever an entry file exports, from the files that it exports it from. */
function exported(folder: string): readonly string[] {
  const index = readFileSync(join(folder, 'index.d.ts'), 'utf8');
  const places = index.matchAll(/^export (type )?(?:\*|\{([^}]*)\}) from '\.\/([^']+)\.ts';$/gm);
  return [...places].flatMap(([, isType, list, file = '']) => {
    const all = declarationsOf(readFileSync(join(folder, `${file}.d.ts`), 'utf8'));
    const names = list === undefined ? [...all.keys()] : list.split(',').map((name) => name.trim());
    return names
      .filter((name) => name !== '')
      .flatMap((name) => {
        const found = all.get(name);
        if (found === undefined) throw new Error(`${file} declares no ${name}`);
        return linesOf(name, found, isType === undefined);
      });
  });
}

/** The exported declarations of a file, each as its lines, by their names. */
function declarationsOf(file: string): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  let open: string[] | null = null;
  for (const line of file.split('\n')) {
    const name = /^export (?:declare )?(?:abstract )?(?:class|interface|type|const|function) ([\w$]+)/.exec(
      line,
    )?.[1];
    if (name !== undefined) found.set(name, (open = []));
    open?.push(line);
    if (/^\S/.test(line) && (line === '}' || line.endsWith(';'))) open = null;
  }
  return found;
}

/** `canMake` says whether callers have more than the type, and so its constructor. */
function linesOf(name: string, lines: readonly string[], canMake: boolean): readonly string[] {
  const [first = '', ...rest] = lines;
  const head = first.replace(/^export (declare )?/, '');
  if (head.startsWith('function ')) return [`${name}  ${flat([head, ...rest]).replace(/;$/, '')}`];
  if (head.startsWith('const ')) return [`${name}  ${head.replace(/ = .*/, '')}`];
  const isBlock = head.endsWith('{') && rest.slice(0, -1).every((line) => line.startsWith(' '));
  if (!isBlock) {
    const [, value = ''] = /= (.*);$/.exec(flat([head, ...rest])) ?? [];
    return alternatives(value).map((each) => `${name}  = ${each}`);
  }
  const members = membersOf(rest.slice(0, -1)).filter(
    (member) => !/^(#|private )/.test(member) && (canMake || !member.startsWith('constructor(')),
  );
  return [
    `${name}  ${head.replace(/ (= )?\{$/, '')}`,
    ...members.map((member) => `${name}.${nameOf(member)}  ${member}`),
  ];
}

/** What stands one step in; what stands further in belongs to it. */
function membersOf(lines: readonly string[]): readonly string[] {
  const members: string[][] = [];
  for (const line of lines) {
    if (/^ {4}[^\s})\]]/.test(line)) members.push([line]);
    else members.at(-1)?.push(line);
  }
  return members.map((member) => flat(member).replace(/;$/, ''));
}

function flat(lines: readonly string[]): string {
  return lines.map((line) => line.trim()).join(' ');
}

function nameOf(member: string): string {
  const found = /^(?:(?:static|readonly|get|set|abstract|protected) )*('[^']*'|\[[^\]]*\]|[\w$]+)/.exec(
    member,
  )?.[1];
  if (found === undefined) throw new Error(`what is named here? ${member}`);
  return found.replaceAll(' ', '');
}

/** The parts of a union. */
export function alternatives(type: string): readonly string[] {
  return split(type, '|');
}

/** At this character, where it stands in no brackets and no text. */
export function split(whole: string, at: string): readonly string[] {
  const parts = [''];
  let depth = 0;
  let quote = '';
  for (const [index, character] of whole.split('').entries()) {
    if (quote !== '') quote = character === quote ? '' : quote;
    else if (character === "'" || character === '"') quote = character;
    else if ('([{<'.includes(character)) depth += 1;
    else if (')]}'.includes(character) || (character === '>' && !'=-'.includes(whole[index - 1] ?? '')))
      depth -= 1;
    if (character === at && depth === 0 && quote === '') parts.push('');
    else parts[parts.length - 1] += character;
  }
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

function main(): void {
  const surfaces = [
    ['sdk/typescript/surface.txt', typescriptSurface()],
    ['sdk/python/surface.txt', pythonSurface()],
  ] as const;
  for (const [path, surface] of surfaces) {
    if (surface === null) console.error(`${path}: there is no Python here to look with`);
    else if (!process.argv.includes('--check')) writeFileSync(join(root, path), surface);
    else if (readFileSync(join(root, path), 'utf8') !== surface) {
      console.error(`${path} is not what npm run generate makes`);
      process.exitCode = 1;
    }
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main();
