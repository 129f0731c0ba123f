import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Generated } from '../contracts/generate/disk.ts';
import { basesOf, type Declaration, exportsOf } from './sdk-declarations.ts';

const root = resolve(import.meta.dirname, '..');

/** The surface of the TypeScript SDK, from the sources in this folder. */
export function typescriptSurface(project = join(root, 'sdk/typescript')): string {
  const declarations = mkdtempSync(join(tmpdir(), 'sdk-surface-'));
  try {
    // Emit declarations without type checks: another step checks the types.
    const emitted = ['--noCheck', '--emitDeclarationOnly', '--removeComments', '--outDir', declarations];
    // A copy of the sources in another folder has no types beside it.
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

/** The lines of every entry of the package, from `exports` in its package.json. */
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

/** `canMake`: callers have the value and so its constructor. */
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
    if (isHidden) continue;
    // The forms in which a value can be called have no name of their own: each of them counts.
    const known = isCall(member) ? member : nameOf(member);
    if (!members.has(known)) members.set(known, member);
  }
  return [
    `${name}  ${withoutHidden(head.replace(/ (= )?\{$/, ''), declaration, listed)}`,
    ...[...members.values()].map((line) => `${name}.${isCall(line) ? '()' : nameOf(line)}  ${line}`),
  ];
}

function isBlock([head = '', ...rest]: readonly string[]): boolean {
  return head.endsWith('{') && rest.slice(0, -1).every((line) => line.startsWith(' '));
}

/** The head without a base type that callers cannot name: its members are listed instead. */
function withoutHidden(head: string, declaration: Declaration, listed: ReadonlySet<string>): string {
  const hidden = basesOf(declaration, 'class').find(({ name }) => !listed.has(name));
  return hidden === undefined ? head : head.replace(` extends ${hidden.name}`, '');
}

function ownMembers({ parts }: Declaration): readonly string[] {
  return parts.flatMap((lines) => membersOf(lines.slice(1, -1)));
}

/** The members of base types that callers cannot name. Behind a listed base, only its base classes count. */
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

/** The lines with one level of indent; deeper lines belong to them. */
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

function isCall(member: string): boolean {
  return /^[<(]/.test(member);
}

function nameOf(member: string): string {
  const found = /^(?:(?:static|readonly|get|set|abstract|protected) )*('[^']*'|\[[^\]]*\]|[\w$]+)/.exec(
    member,
  )?.[1];
  if (found === undefined) throw new Error(`unknown member form: ${member}`);
  return found.replaceAll(' ', '');
}

/** The parts of a union. */
export function alternatives(type: string): readonly string[] {
  return split(type, '|');
}

/** Splits at this character outside brackets and strings. */
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

/**
 * The names that SDK callers can use, one member per line. Each release keeps both lists, and later ones are compared with
 * them. Without a Python its list stays unchanged; the tests of that SDK compare it with the source.
 */
export function generated(): Generated {
  const python = pythonSurface();
  if (python === null) console.error('sdk/python/surface.txt: there is no Python here to look with');
  return {
    files: new Map([
      ['sdk/typescript/surface.txt', typescriptSurface()],
      ...(python === null ? [] : [['sdk/python/surface.txt', python] as const]),
    ]),
  };
}
