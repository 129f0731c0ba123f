import { readdir, rm } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { Command } from 'commander';
import { root } from './build/project.ts';
import { type ArchiveReport, makePackages } from './packages/make.ts';
import { type Recipe, recipes } from './packages/recipes.ts';

/** `npm run packages`: makes every package of a release into `dist/packages` and checks it as its users will meet it. */

interface Options {
  readonly only?: string;
  readonly accept?: boolean;
  readonly out: string;
}

await new Command('npm run packages --')
  .description(
    `Makes the packages of a release and checks their files, sizes, links, types and metadata. The packages: ${recipes.map(({ id }) => id).join(', ')}.`,
  )
  .option('--only <names>', 'the packages to make, joined by commas')
  .option(
    '--accept',
    'writes packages/<name>/files.txt, the lists of the files, instead of comparing with them',
  )
  .option('--out <folder>', 'receives the archives, their bills of materials and SHA256SUMS', 'dist/packages')
  .action(run)
  .parseAsync();

async function run({ only, accept = false, out }: Options): Promise<void> {
  const chosen = chosenRecipes(only);
  if (typeof chosen === 'string') return fail(chosen);
  const outdir = resolve(root, out);
  if (only === undefined) await removeArchives(outdir);
  const reports = await makePackages(chosen, {
    outdir,
    accept,
    onMade: (report) => console.log(lineOf(report)),
  });
  const faults = reports.flatMap((report) => report.faults);
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) return fail(faults.length === 1 ? 'a fault' : `${faults.length} faults`);
  console.log(`\nReady to install or to publish (docs/releasing.md): ${join(relative(root, outdir), '/')}`);
}

/** Removes the archives of earlier runs, so that the folder holds one release. */
async function removeArchives(outdir: string): Promise<void> {
  const names = await readdir(outdir).catch(() => []);
  const ours = names.filter((name) =>
    /^(?:svc[-_]runtime|create-svc-app)\S*\.(?:tgz|whl|tar\.gz|cdx\.json)$/.test(name),
  );
  for (const name of ours) await rm(join(outdir, name));
}

function chosenRecipes(only: string | undefined): readonly Recipe[] | string {
  if (only === undefined) return recipes;
  const names = only.split(',');
  const unknown = names.find((name) => !recipes.some(({ id }) => id === name));
  if (unknown !== undefined)
    return `there is no package ${unknown}: ${recipes.map(({ id }) => id).join(', ')}`;
  return recipes.filter(({ id }) => names.includes(id));
}

function lineOf({ file, bytes, bytesMax, files, faults, sha256 }: ArchiveReport): string {
  const state = faults.length === 0 ? 'made  ' : 'FAULTS';
  const size = `${kilobytes(bytes)} of ${kilobytes(bytesMax)} kB`.padStart(18);
  return `${state}  ${file.padEnd(44)} ${size}  ${String(files).padStart(4)} files  sha256 ${sha256.slice(0, 16)}`;
}

function kilobytes(bytes: number): string {
  return Math.ceil(bytes / 1000).toLocaleString('en');
}

function fail(line: string): void {
  console.error(line);
  process.exitCode = 1;
}
