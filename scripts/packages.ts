import { readdir, rm } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { Command } from 'commander';
import { root } from './build/project.ts';
import { type ArchiveReport, makePackages } from './packages/make.ts';
import { archivesIn, runCells } from './packages/matrix/run.ts';
import { recipes } from './packages/recipes.ts';

/**
 * `npm run packages`: makes every package of a release into `dist/packages` and checks it. With `--matrix` it installs the packed files
 * into empty folders, on the runtimes and compilers of their users.
 */

interface Options {
  readonly only?: string;
  readonly accept?: boolean;
  readonly matrix?: boolean;
  readonly list?: boolean;
  readonly out: string;
}

await new Command('npm run packages --')
  .description(
    `Makes the packages of a release and checks their files, sizes, links, types and metadata. The packages: ${recipes.map(({ id }) => id).join(', ')}.`,
  )
  .option(
    '--only <names>',
    'the packages to make, or the cells of the matrix to run, joined by commas; a cell by its beginning',
  )
  .option(
    '--accept',
    'writes packages/<name>/files.txt, the lists of the files, instead of comparing with them',
  )
  .option('--out <folder>', 'receives the archives, their bills of materials and SHA256SUMS', 'dist/packages')
  .option(
    '--matrix',
    'makes the packages, then runs them in empty folders on the releases of Node, TypeScript and Python',
  )
  .option('--list', 'prints the cells of the matrix on this machine')
  .action(run)
  .parseAsync();

async function run({ only, accept = false, out, matrix = false, list = false }: Options): Promise<void> {
  const outdir = resolve(root, out);
  const names = only?.split(',');
  if (list) return printCells();
  if (!matrix) {
    if (await make(outdir, names, accept))
      console.log(
        `\nReady to install or to publish (docs/releasing.md): ${join(relative(root, outdir), '/')}`,
      );
    return;
  }
  const cells = await allCells();
  const unknown = names?.find((name) => !cells.some(({ id }) => id.startsWith(name)));
  if (unknown !== undefined)
    return fail(`there is no cell ${unknown}: ${cells.map(({ id }) => id).join(', ')}`);
  const chosen = cells.filter(({ id }) => names?.some((name) => id.startsWith(name)) !== false);
  const needed = recipes.filter(
    ({ kind }) => kind === 'npm' || chosen.some(({ id }) => /^wheel|python/.test(id)),
  );
  if (!(await make(outdir, only === undefined ? undefined : needed.map(({ id }) => id), false))) return;
  const outcomes = await runCells(chosen, await archivesIn(outdir), ({ id, seconds, line }) =>
    console.log(`${id.padEnd(14)} ${seconds.toFixed(1).padStart(6)} s  ${line}`),
  );
  const faults = outcomes.filter(({ fault }) => fault !== null);
  for (const { id, fault } of faults) console.error(`\n${id}: ${fault}`);
  if (faults.length > 0) fail(`${faults.length} of ${outcomes.length} cells failed`);
}

async function printCells(): Promise<void> {
  const { cells, shareOfMatrix } = await import('./packages/matrix/cells.ts');
  for (const { id } of await cells())
    console.log(shareOfMatrix.includes(id) ? `${id.padEnd(14)} with each change` : id);
}

/** Loads the cells on demand: they need the tools of Python, which few packages do. */
async function allCells() {
  const { cells } = await import('./packages/matrix/cells.ts');
  return cells();
}

/** Makes the named packages, or all. Returns whether they are without a fault. */
async function make(outdir: string, names: readonly string[] | undefined, accept: boolean): Promise<boolean> {
  const unknown = names?.find((name) => !recipes.some(({ id }) => id === name));
  if (unknown !== undefined) {
    fail(`there is no package ${unknown}: ${recipes.map(({ id }) => id).join(', ')}`);
    return false;
  }
  if (names === undefined) await removeArchives(outdir);
  const chosen = recipes.filter(({ id }) => names?.includes(id) !== false);
  const faults: string[] = [];
  try {
    const reports = await makePackages(chosen, { outdir, accept, onMade: printLine });
    faults.push(...reports.flatMap((report) => report.faults));
  } catch (error) {
    faults.push(error instanceof Error ? error.message : String(error));
  }
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) fail(faults.length === 1 ? 'a fault' : `${faults.length} faults`);
  return faults.length === 0;
}

/** Removes the archives of earlier runs, so that the folder holds one release. */
async function removeArchives(outdir: string): Promise<void> {
  const names = await readdir(outdir).catch(() => []);
  const ours = /^(?:svc[-_]runtime|create-svc-app)\S*\.(?:tgz|whl|tar\.gz|cdx\.json)$/;
  for (const name of names.filter((each) => ours.test(each))) await rm(join(outdir, name));
}

function printLine({ file, bytes, bytesMax, files, faults, sha256 }: ArchiveReport): void {
  const state = faults.length === 0 ? 'made  ' : 'FAULTS';
  const size = `${kilobytes(bytes)} of ${kilobytes(bytesMax)} kB`.padStart(18);
  const count = `${String(files).padStart(4)} files`;
  console.log(`${state}  ${file.padEnd(44)} ${size}  ${count}  sha256 ${sha256.slice(0, 16)}`);
}

function kilobytes(bytes: number): string {
  return Math.ceil(bytes / 1000).toLocaleString('en');
}

function fail(line: string): void {
  console.error(line);
  process.exitCode = 1;
}
