import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { bundle, copyDocs, writeFiles } from './build/bundle.ts';
import { bundleFaults } from './build/contents.ts';
import { installationOf } from './build/installed.ts';
import { budgetFaults, groupParts, type PartSize, sizesOf, startsOf } from './build/parts.ts';
import { projectPackage, root } from './build/project.ts';
import { buildServer } from './build/server.ts';
import { zip } from './build/zip.ts';

export { bytesIn, closure, start } from './build/parts.ts';

/**
 * `npm run build` fills `dist/functions/` and packs it as `dist/functions.zip`, which can be deployed as it is; and makes
 * `dist/svc-runtime-server-<version>.tgz`, the package of the embedded server and the operator tool for a machine. A cold start reads a handful of files instead of thousands, and each function only
 * those of its own group and provider.
 */

const framework = '@google-cloud/functions-framework';

export interface BuildReport {
  readonly outdir: string;
  readonly sizes: readonly PartSize[];
  /** The modules that each function reads until its first answer. */
  readonly starts: readonly PartSize[];
  readonly faults: readonly string[];
}

/** Writes the functions to `outdir`. Every folder gets the same bytes. */
export async function buildFunctions(outdir: string): Promise<BuildReport> {
  const { name, version } = projectPackage();
  const { metafile, files } = await bundle({
    entryPoints: { index: 'functions/index.ts' },
    as: 'dist/functions',
    // Keep one copy of the framework: it would not find functions that a bundled second copy registers.
    // `debug` uses `supports-color` if it is installed; the build must not depend on development tools that bring it.
    external: [framework, 'supports-color'],
    members: { name, version },
  });
  const { description, lock } = installationOf([framework]);
  const described = [
    ['package.json', `${JSON.stringify(description, null, 2)}\n`],
    ['package-lock.json', `${JSON.stringify(lock, null, 2)}\n`],
  ] as const;
  await writeFiles(outdir, new Map([...files, ...described]));
  await copyDocs(outdir);
  await writeFile(join(outdir, '..', 'functions.meta.json'), JSON.stringify(metafile));
  const groups = await groupParts();
  const sizes = sizesOf(metafile, groups);
  const starts = startsOf(metafile, groups);
  const texts = new Map([...files].map(([file, text]) => [`dist/functions/${file}`, text]));
  const faults = [...budgetFaults([...sizes, ...starts]), ...bundleFaults(metafile, texts)];
  return { outdir, sizes, starts, faults };
}

/** Packs the folder of the functions as the archive that Terraform uploads. */
export async function packFunctions(outdir: string): Promise<string> {
  const archive = `${outdir}.zip`;
  const entries = await readdir(outdir, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(outdir, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .filter((path) => !path.startsWith('node_modules/'))
    .sort();
  const files = paths.map(async (path) => [path, await readFile(join(outdir, path))] as const);
  await writeFile(archive, zip(new Map(await Promise.all(files))));
  return archive;
}

function table(sizes: readonly PartSize[]): string {
  const rows = sizes.map(({ name, bytes, bytesMax }) => {
    return `${name.padEnd(34)} ${String(bytes).padStart(9)} of ${bytesMax} bytes`;
  });
  return rows.join('\n');
}

if (import.meta.main) {
  const functions = await buildFunctions(join(root, 'dist/functions'));
  const source = await packFunctions(functions.outdir);
  const server = await buildServer(join(root, 'dist'));
  console.log(table(functions.sizes));
  console.log('\nUntil the first answer, on Firestore:');
  console.log(table(functions.starts));
  console.log('\nFor a machine:');
  console.log(table(server.sizes));
  const faults = [...functions.faults, ...server.faults];
  for (const fault of faults) console.error(fault);
  const [deployed, packed] = [source, server.archive].map((path) => relative(root, path));
  if (faults.length === 0) console.log(`\nReady to deploy: ${deployed}\nReady to install: ${packed}`);
  else process.exitCode = 1;
}
