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
import { basesOf, type Declaration, exportsOf } from './sdk-declarations.ts';

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
    return text(exported(project, declarations));
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

/** The lines of every entry of the package. `exports` of its description names them. */
function exported(project: string, declarations: string): readonly string[] {
  const { exports: entries } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as {
    exports: Readonly<Record<string, string | { readonly types: string }>>;
  };
  const all = Object.values(entries).flatMap((entry) =>
    typeof entry === 'string' ? [] : [...exportsOf(entry.types.replace(/^\.\/dist/, declarations)).values()],
  );
  const listed = new Set(all.map(({ declaration }) => declaration.name));
  return all.flatMap(({ declaration, isType }) => linesOf(declaration, !isType, listed));
}

/** `canMake` says whether callers have more than the type, and so its constructor. */
function linesOf(declaration: Declaration, canMake: boolean, listed: ReadonlySet<string>): readonly string[] {
  const { name, parts } = declaration;
  const [first = '', ...rest] = parts[0] ?? [];
  const head = first.replace(/^export (declare )?/, '');
  if (head.startsWith('function ')) return [`${name}  ${flat([head, ...rest]).replace(/;$/, '')}`];
  if (head.startsWith('const ')) return [`${name}  ${head.replace(/ = .*/, '')}`];
  if (!isBlock(parts[0] ?? [])) {
    const [, value = ''] = /= (.*);$/.exec(flat([head, ...rest])) ?? [];
    return alternatives(value).map((each) => `${name}  = ${each}`);
  }
  const members = new Map<string, string>();
  for (const member of [...ownMembers(declaration), ...inheritedMembers(declaration, listed)]) {
    const isHidden = /^(#|private )/.test(member) || (!canMake && member.startsWith('constructor('));
    if (!isHidden && !members.has(nameOf(member))) members.set(nameOf(member), member);
  }
  return [
    `${name}  ${withoutHidden(head.replace(/ (= )?\{$/, ''), declaration, listed)}`,
    ...[...members].map(([member, line]) => `${name}.${member}  ${line}`),
  ];
}

function isBlock([head = '', ...rest]: readonly string[]): boolean {
  return head.endsWith('{') && rest.slice(0, -1).every((line) => line.startsWith(' '));
}

/** The head without a base that callers cannot name: its members are listed instead. */
function withoutHidden(head: string, declaration: Declaration, listed: ReadonlySet<string>): string {
  const hidden = basesOf(declaration, 'class').find(({ name }) => !listed.has(name));
  return hidden === undefined ? head : head.replace(` extends ${hidden.name}`, '');
}

function ownMembers({ parts }: Declaration): readonly string[] {
  return parts.flatMap((lines) => membersOf(lines.slice(1, -1)));
}

/** The members of bases that callers cannot name. Behind a base that is listed, only the classes that it stands on count. */
function inheritedMembers(
  declaration: Declaration,
  listed: ReadonlySet<string>,
  kind: 'all' | 'class' = 'all',
): readonly string[] {
  return basesOf(declaration, kind).flatMap((base) =>
    listed.has(base.name)
      ? inheritedMembers(base, listed, 'class')
      : [...ownMembers(base), ...inheritedMembers(base, listed, kind)],
  );
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
