import { statSync } from 'node:fs';
import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type BuildResult, build, type Metafile } from 'esbuild';
import { literalTaskFiles, onlyMembers, withoutUnused } from './plugins.ts';
import { root } from './project.ts';

/** Defines the names that CommonJS modules expect, because ESM lacks them. */
const banner = [
  `import { createRequire as svcCreateRequire } from 'node:module';`,
  `import { dirname as svcDirname } from 'node:path';`,
  `import { fileURLToPath as svcFileURLToPath } from 'node:url';`,
  `const require = svcCreateRequire(import.meta.url);`,
  `const __filename = svcFileURLToPath(import.meta.url);`,
  `const __dirname = svcDirname(__filename);`,
].join('');

export interface BundleOptions {
  /** Entry modules by the name of their output. */
  readonly entryPoints: Readonly<Record<string, string>>;
  /** The folder that the names in the metafile begin with. The output is the same for every place that it is written to. */
  readonly as: string;
  readonly external: readonly string[];
  /** The members of the project's package.json that the code reads. */
  readonly members: object;
}

export interface Bundle {
  readonly metafile: Metafile;
  /** Content by file name. */
  readonly files: ReadonlyMap<string, string>;
}

/** Bundles in memory, with a source map beside each file. */
export async function bundle({ entryPoints, as, external, members }: BundleOptions): Promise<Bundle> {
  const { metafile, outputFiles }: BuildResult<{ metafile: true; write: false }> = await build({
    absWorkingDir: root,
    entryPoints: { ...entryPoints },
    outdir: as,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    splitting: true,
    minify: true,
    sourcemap: 'linked',
    sourcesContent: false,
    legalComments: 'linked',
    banner: { js: banner },
    external: [...external],
    plugins: [onlyMembers(members), literalTaskFiles, withoutUnused],
    metafile: true,
    write: false,
    logLevel: 'warning',
  });
  const files = outputFiles.map(({ path, text }) => {
    return [basename(path), path.endsWith('.map') ? fromProject(text) : text] as const;
  });
  return { metafile, files: new Map(files) };
}

/** Names the sources of a map by their path in the project, which a reader of a stack trace looks for. */
function fromProject(map: string): string {
  const { sources, ...rest } = JSON.parse(map) as { readonly sources: readonly string[] };
  return JSON.stringify({ ...rest, sources: sources.map((source) => source.replace(/^(\.\.\/)+/, '')) });
}

export async function writeFiles(folder: string, files: ReadonlyMap<string, string>): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await Promise.all([...files].map(([name, text]) => writeFile(join(folder, name), text)));
}

/** Copies the files of the page `/docs` to the folder where `compose/groups/server.ts` reads them in a bundle. */
export async function copyDocs(folder: string): Promise<void> {
  await cp(join(root, 'functions/docs'), join(folder, 'docs'), { recursive: true });
  await cp(join(root, 'docs'), join(folder, 'docs/pages'), { recursive: true, filter: isPage });
}

function isPage(path: string): boolean {
  return path.endsWith('.md') || path.endsWith('.schema.json') || statSync(path).isDirectory();
}
