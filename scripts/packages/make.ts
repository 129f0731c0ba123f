import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { root } from '../build/project.ts';
import { registryFaults } from './checks.ts';
import { contentFaults, pinnedPaths, unpack } from './contents.ts';
import type { Recipe } from './recipes.ts';
import { billOf } from './sbom.ts';

export interface MakeOptions {
  /** Receives the archives, the bills of materials and `SHA256SUMS`. */
  readonly outdir: string;
  /** Writes the lists of files instead of comparing with them. */
  readonly accept: boolean;
  readonly onMade: (archive: ArchiveReport) => void;
}

export interface ArchiveReport {
  readonly id: string;
  readonly file: string;
  readonly bytes: number;
  readonly bytesMax: number;
  readonly files: number;
  readonly sha256: string;
  readonly faults: readonly string[];
}

/** Makes the packages one after another, and gives the faults of each. Where one cannot be made, those before it keep their sums. */
export async function makePackages(
  recipes: readonly Recipe[],
  options: MakeOptions,
): Promise<readonly ArchiveReport[]> {
  await mkdir(options.outdir, { recursive: true });
  const reports: ArchiveReport[] = [];
  const onMade = (report: ArchiveReport) => {
    reports.push(report);
    options.onMade(report);
  };
  try {
    for (const recipe of recipes) {
      const work = await mkdtemp(join(tmpdir(), `svc-package-${recipe.id}-`));
      try {
        await makeOne(recipe, work, { ...options, onMade });
      } finally {
        await rm(work, { recursive: true, force: true });
      }
    }
  } finally {
    await writeSums(options.outdir, reports);
  }
  return reports;
}

/** Writes the sums of the archives. The lines of other archives in the folder stay: `--only` makes some of a release. */
async function writeSums(outdir: string, reports: readonly ArchiveReport[]): Promise<void> {
  const path = join(outdir, 'SHA256SUMS');
  const sums = new Map<string, string>();
  for (const line of (await readFile(path, 'utf8').catch(() => '')).split('\n')) {
    const [sha256 = '', file = ''] = line.split('  ');
    if (file !== '' && existsSync(join(outdir, file))) sums.set(file, sha256);
  }
  for (const { file, sha256 } of reports) sums.set(file, sha256);
  const lines = [...sums].map(([file, sha256]) => `${sha256}  ${file}\n`).sort();
  await writeFile(path, lines.join(''));
}

async function makeOne(recipe: Recipe, work: string, { outdir, accept, onMade }: MakeOptions): Promise<void> {
  const { id, kind, bytesMax } = recipe;
  const { archives, bundled, faults: faultsOfBuild } = await recipe.make(work);
  const lists: string[] = [];
  for (const archive of archives) {
    const file = basename(archive);
    const bytes = await readFile(archive);
    const contents = await unpack(archive, join(work, 'unpacked', file));
    const heading =
      archives.length > 1 ? [`# ${file.endsWith('.whl') ? 'wheel' : 'source distribution'}`] : [];
    lists.push([...heading, ...pinnedPaths(contents.paths)].join('\n'));
    const faults = [...faultsOfBuild, ...contentFaults(archive, contents)];
    if (bytes.length > bytesMax) faults.push(`${file} has ${bytes.length} of ${bytesMax} bytes`);
    if (kind === 'npm') faults.push(...(await registryFaults(archive, recipe.isCommand !== true)));
    if (archive === archives.at(-1)) faults.push(...(await listFaults(id, `${lists.join('\n')}\n`, accept)));
    await copyFile(archive, join(outdir, file));
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    onMade({ id, file, bytes: bytes.length, bytesMax, files: contents.paths.length, sha256, faults });
  }
  const [first = ''] = archives.map((archive) => basename(archive));
  const name = await nameOf(kind, join(work, 'unpacked', first));
  const bill = first.replace(/\.tgz$|-py3-none-any\.whl$|\.tar\.gz$/, '.cdx.json');
  await writeFile(join(outdir, bill), billOf(name, kind, bundled));
}

async function nameOf(kind: Recipe['kind'], folder: string): Promise<string> {
  if (kind === 'python') return 'svc-runtime-client';
  return (JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { readonly name: string }).name;
}

/** Compares the files with `packages/<id>/files.txt`, so that a file comes into a package by decision. */
async function listFaults(id: string, found: string, accept: boolean): Promise<readonly string[]> {
  const path = join(root, 'packages', id, 'files.txt');
  if (accept) {
    await mkdir(join(root, 'packages', id), { recursive: true });
    await writeFile(path, found);
    return [];
  }
  const pinned = await readFile(path, 'utf8').catch(() => '');
  if (pinned === found) return [];
  const [before, now] = [pinned, found].map((text) => new Set(text.split('\n')));
  const more = [...(now ?? [])].filter((line) => before?.has(line) !== true).map((line) => `  + ${line}`);
  const less = [...(before ?? [])].filter((line) => now?.has(line) !== true).map((line) => `  - ${line}`);
  const remedy = `npm run packages -- --only ${id} --accept writes the list`;
  return [`packages/${id}/files.txt names other files (${remedy}):\n${[...more, ...less].join('\n')}`];
}
