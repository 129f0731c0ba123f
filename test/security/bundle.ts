import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Metafile, transform } from 'esbuild';

/** Reads of a build for the tests of the supply chain: its packages, its files, its code, and a second build elsewhere. */

/** The folder of the package that a module of the bundle lies in, from the project's root; `null` for our own. */
function packageFolder(input: string): string | null {
  return /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(input)?.[0] ?? null;
}

/** Folders of all packages that modules of the bundle lie in; with `used` only of those that put code into it. */
export function packageFolders(metafile: Metafile, used: boolean): string[] {
  const inputs = used ? usedInputs(metafile) : Object.keys(metafile.inputs);
  return [...new Set(inputs.map(packageFolder).filter((folder) => folder !== null))].sort();
}

export function packageName(folder: string): string {
  return folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

function usedInputs(metafile: Metafile): string[] {
  const outputs = Object.values(metafile.outputs).flatMap(({ inputs }) => Object.entries(inputs));
  return [...new Set(outputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([input]) => input))];
}

/** SHA-256 of every file below `folder`, by its path. */
export function hashesOf(folder: string): Readonly<Record<string, string>> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return Object.fromEntries(
    files
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
      .map((path) => [
        path.slice(folder.length + 1),
        createHash('sha256').update(readFileSync(path)).digest('hex'),
      ]),
  );
}

/**
 * Builds `outdir` (a path from the root) once more from a copy of the sources and of the packages in the bundle, by a
 * process of its own with another folder, home, language and time zone. The tools are the installed ones.
 */
export function buildElsewhere(root: string, folder: string, metafile: Metafile, outdir: string): string {
  const copy = join(folder, 'somewhere', 'else entirely');
  const paths = [
    'functions',
    'contracts',
    'docs',
    'scripts',
    'package.json',
    'package-lock.json',
    'tsconfig.json',
  ];
  for (const path of [...paths, ...outermost(packageFolders(metafile, false))]) {
    cpSync(join(root, path), join(copy, path), { recursive: true });
  }
  for (const path of ['node_modules/esbuild', 'node_modules/@google-cloud/functions-framework']) {
    mkdirSync(dirname(join(copy, path)), { recursive: true });
    symlinkSync(join(root, path), join(copy, path));
  }
  const program = `import { buildFunctions } from './scripts/build.ts'; await buildFunctions(process.argv[1]);`;
  const { status, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '--eval', program, join(copy, outdir)],
    { cwd: copy, encoding: 'utf8', env: { HOME: folder, TZ: 'Pacific/Kiritimati', LANG: 'tr_TR.UTF-8' } },
  );
  if (status !== 0) throw new Error(`the copy was not built: ${stderr}`);
  return join(copy, outdir);
}

/** Folders that lie in no other one of the list: copying those copies all. */
function outermost(folders: readonly string[]): string[] {
  return folders.filter((folder) => !folders.some((other) => folder.startsWith(`${other}/`)));
}

/** The ways by which a module makes code from text or bytes, or loads what the build did not see. */
const makers: Readonly<Record<string, RegExp>> = {
  eval: /(?<![\w$.])eval\b(?!["'`|])/g,
  Function: /(?<![\w$.])Function\s*(?:\.\s*(?:apply|call|bind)\s*)?\(/g,
  constructor: /\bconstructor\.constructor\b|\.constructor\(\s*["'`]|\[["'`]constructor["'`]\]/g,
  'text in a timer': /\bset(?:Timeout|Interval|Immediate)\(\s*["'`]/g,
  WebAssembly: /\bWebAssembly\b/g,
  'dynamic require':
    /(?<![\w$])require\s*\(\s*(?!["'`][^"'`]*["'`]\s*\))|\bmodule\.require\b|\brequire\.(?:resolve|main|cache)\b|\bcreateRequire\(/g,
  'dynamic import': /(?<![\w$.])import\s*\(\s*(?!["'][^"']*["']\s*[,)])/g,
};

/** How often code is made from text in one module, by way; empty for nearly all. */
export async function makersIn(path: string, text: string): Promise<Record<string, number>> {
  // Without comments, and with one way to quote: esbuild knows a regular expression from a division.
  const loader = /\.[cm]?ts$/.test(path) ? 'ts' : 'js';
  const { code } = await transform(text, { loader, minifyWhitespace: true, legalComments: 'none' });
  const counts = Object.entries(makers).map(
    ([way, pattern]) => [way, [...code.matchAll(pattern)].length] as const,
  );
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

/** All modules with code in the bundle that make code, by path from the root. */
export async function makersOf(
  root: string,
  metafile: Metafile,
): Promise<Record<string, Record<string, number>>> {
  const modules = usedInputs(metafile).filter((input) => /\.[cm]?[jt]s$/.test(input));
  const found = await Promise.all(
    modules.map(
      async (input) => [input, await makersIn(input, readFileSync(join(root, input), 'utf8'))] as const,
    ),
  );
  return Object.fromEntries(found.filter(([, counts]) => Object.keys(counts).length > 0));
}
