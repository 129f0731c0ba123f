import { readFileSync, statSync } from 'node:fs';
import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { type BuildResult, build, type Metafile, type Plugin } from 'esbuild';
import { catalogGroups } from '../functions/compose/catalog-groups.ts';

/**
 * Bundles the functions for the cloud: `npm run build` fills `dist/functions/`, which can be deployed as it is. A cold
 * start reads a handful of files instead of thousands, and each function only those of its own group and provider.
 */

const root = resolve(import.meta.dirname, '..');
const framework = '@google-cloud/functions-framework';

/** A part of the bundle and its budget in bytes of JavaScript; a larger part fails the build. */
interface Part {
  readonly bytesMax: number;
  /** The entry modules of the part. */
  readonly entries: readonly string[];
  /** Whether its dynamic imports count too, except those that belong to another part. */
  readonly later?: boolean;
}

/** The static imports of the entry: each function reads them before its first request. */
export const start: Part = { bytesMax: 165_000, entries: ['functions/index.ts'] };

/** The parts that belong to no group. Groups name their own budgets in functions/compose/groups. */
const sharedParts: Readonly<Record<string, Part>> = {
  /** The run engine, in each function that starts, executes or maintains runs. */
  runtime: { bytesMax: 120_000, entries: ['functions/compose/execution.ts'], later: true },
  /** The published contract. Read on request. */
  documents: {
    bytesMax: 600_000,
    entries: ['contracts/generated/openapi/svc.json', 'contracts/generated/schemas/svc-public.schema.json'],
  },
  /** The page `/docs`, where it is enabled. Its files are read on request. */
  docs: { bytesMax: 20_000, entries: ['functions/groups/server/docs/docs.ts'] },
  /** Read with the first guide of that page. */
  guides: { bytesMax: 60_000, entries: ['functions/groups/server/docs/markdown.ts'] },
  sqlite: { bytesMax: 60_000, entries: ['functions/store/sqlite/store.ts'] },
  firestore: { bytesMax: 3_300_000, entries: ['functions/store/firestore/store.ts'] },
  postgresql: { bytesMax: 200_000, entries: ['functions/store/postgres/store.ts'] },
  mysql: { bytesMax: 1_200_000, entries: ['functions/store/mysql/store.ts'] },
  /** Read with the first token. Shares most of its bytes with the driver of Firestore. */
  oidc: { bytesMax: 600_000, entries: ['functions/identity/oidc/auth-library.ts'] },
  /** The hosted worker, and the functions that the scheduler calls. */
  besideGroups: {
    bytesMax: 90_000,
    entries: [
      'functions/groups/execution/delivery-operation.ts',
      'functions/groups/execution/scheduled-operations.ts',
    ],
  },
  /** Makes messages for Cloud Tasks. The first message reads the client. */
  cloudQueue: {
    bytesMax: 10_000,
    entries: ['functions/queue/cloud-tasks/cloud-tasks-queue.ts', 'functions/queue/cloud-tasks/routes.ts'],
  },
  /** Shares most of its bytes with the driver of Firestore. */
  cloudTasks: { bytesMax: 2_900_000, entries: ['functions/queue/cloud-tasks/client.ts'] },
  /** Read with the first artifact in a bucket. Shares most of its bytes with `oidc`. */
  cloudStorage: { bytesMax: 640_000, entries: ['functions/blobs/cloud-storage/store.ts'] },
};

/** The parts with code of packages. All other parts hold only the project's own code. */
const partsWithPackages = [
  'firestore',
  'postgresql',
  'mysql',
  'oidc',
  'cloudStorage',
  'cloudTasks',
  'guides',
];

/** One part for each group of the catalog: its code, its operations and its validators. */
async function groupParts(): Promise<Readonly<Record<string, Part>>> {
  const parts = catalogGroups.map(async ({ name, module }) => {
    const entries = [
      `functions/compose/groups/${name}.ts`,
      `contracts/generated/operations/${name}.ts`,
      `contracts/generated/validators/${name}.js`,
    ];
    return [name, { bytesMax: (await module()).bytesMax, entries, later: true }] as const;
  });
  return Object.fromEntries(await Promise.all(parts));
}

/** Defines the names that CommonJS modules expect, because ESM lacks them. */
const banner = [
  `import { createRequire as svcCreateRequire } from 'node:module';`,
  `import { dirname as svcDirname } from 'node:path';`,
  `import { fileURLToPath as svcFileURLToPath } from 'node:url';`,
  `const require = svcCreateRequire(import.meta.url);`,
  `const __filename = svcFileURLToPath(import.meta.url);`,
  `const __dirname = svcDirname(__filename);`,
].join('');

export interface PartSize {
  readonly name: string;
  readonly bytes: number;
  readonly bytesMax: number;
}

export interface BuildReport {
  readonly outdir: string;
  readonly sizes: readonly PartSize[];
  readonly faults: readonly string[];
}

export async function buildFunctions(outdir: string): Promise<BuildReport> {
  await rm(outdir, { recursive: true, force: true });
  await mkdir(outdir, { recursive: true });
  const { metafile, outputFiles }: BuildResult<{ metafile: true; write: false }> = await build({
    absWorkingDir: root,
    entryPoints: { index: 'functions/index.ts' },
    outdir,
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
    // Keep one copy of the framework: it would not find functions that a bundled second copy registers.
    // `debug` uses `supports-color` if it is installed; the build must not depend on development tools that bring it.
    external: [framework, 'supports-color'],
    plugins: [releaseOnly, literalTaskFiles, withoutTaskBetas],
    metafile: true,
    write: false,
    logLevel: 'warning',
  });
  await Promise.all(outputFiles.map((file) => writeFile(file.path, file.contents)));
  await copyDocs(outdir);
  await writeFile(join(outdir, 'package.json'), `${JSON.stringify(deployedPackage(), null, 2)}\n`);
  await writeFile(join(outdir, '..', 'functions.meta.json'), JSON.stringify(metafile));
  const sizes = sizesOf(metafile, await groupParts());
  const texts = new Map(outputFiles.map((file) => [relative(root, file.path), file.text]));
  return { outdir, sizes, faults: [...budgetFaults(sizes), ...contentFaults(metafile, texts)] };
}

function isPage(path: string): boolean {
  return path.endsWith('.md') || statSync(path).isDirectory();
}

/** Copies the files of the page `/docs` to the folder where `compose.ts` reads them in a bundle. */
async function copyDocs(outdir: string): Promise<void> {
  await cp(join(root, 'functions/docs'), join(outdir, 'docs'), { recursive: true });
  await cp(join(root, 'docs'), join(outdir, 'docs/pages'), { recursive: true, filter: isPage });
}

/** Reduces the project's package.json to name and version: the functions read nothing else of it. */
const releaseOnly: Plugin = {
  name: 'release-only',
  setup(bundle) {
    bundle.onLoad({ filter: /package\.json$/ }, ({ path }) => {
      if (path !== join(root, 'package.json')) return undefined;
      const { name, version } = projectPackage();
      return { contents: JSON.stringify({ name, version }), loader: 'json' };
    });
  },
};

/**
 * The client of Cloud Tasks reads its descriptions from computed paths, which do not exist in a bundle. This plugin
 * replaces them with literal imports. A client version with different code fails the build.
 */
const literalTaskFiles: Plugin = {
  name: 'literal-task-files',
  setup(bundle) {
    const filter = /@google-cloud[\\/]tasks[\\/]build[\\/](?:cjs|esm)[\\/]src[\\/].*_client\.c?js$/;
    bundle.onLoad({ filter }, ({ path }) => {
      const folder = dirname(path);
      const { version } = JSON.parse(
        readFileSync(resolve(folder, '../../../../package.json'), 'utf8'),
      ) as ProjectPackage;
      const read = (file: string) => `require(${JSON.stringify(resolve(folder, file))})`;
      let contents = readFileSync(path, 'utf8');
      for (const [pattern, value] of [
        [/\b(const|var) gapicConfig = [^;]+;/, read('cloud_tasks_client_config.json')],
        [/\b(const|var) jsonProtos = [^;]+;/, read('../../../protos/protos.json')],
        [/\b(const|var) version = [^;]+;/, JSON.stringify(version)],
      ] as const) {
        if (!pattern.test(contents)) throw new Error(`${path} differs from the expected code`);
        contents = contents.replace(pattern, (whole) => `${whole.split('=', 1).join('')}= ${value};`);
      }
      contents = contents.replace(/const dirname = path\.dirname\(fileURLToPath\(import\.meta\.url\)\);/, '');
      return { contents, loader: 'js', resolveDir: folder };
    });
    // The literal imports above replace this loader.
    bundle.onLoad({ filter: /@google-cloud[\\/]tasks[\\/]build[\\/].*json-helper\.cjs$/ }, () => ({
      contents: 'module.exports = { getJSON: undefined };',
      loader: 'js',
    }));
  },
};

/** Leaves out the beta versions of the API: the service does not call them. */
const withoutTaskBetas: Plugin = {
  name: 'without-task-betas',
  setup(bundle) {
    bundle.onResolve({ filter: /v2beta[23]/ }, ({ path, importer }) =>
      /@google-cloud[\\/]tasks/.test(importer) ? { path, namespace: 'left-out' } : undefined,
    );
    bundle.onLoad({ filter: /.*/, namespace: 'left-out' }, () => ({ contents: 'export {}', loader: 'js' }));
  },
};

interface ProjectPackage {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly dependencies: Readonly<Record<string, string>>;
}

function projectPackage(): ProjectPackage {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as ProjectPackage;
}

function deployedPackage(): object {
  const { name, version, license, dependencies } = projectPackage();
  return {
    name: `${name}-functions`,
    version,
    private: true,
    license,
    type: 'module',
    main: 'index.js',
    engines: { node: '>=24' },
    dependencies: { [framework]: dependencies[framework] },
  };
}

/** Bytes of each part beyond the start. */
function sizesOf(metafile: Metafile, groups: Readonly<Record<string, Part>>): readonly PartSize[] {
  const parts = { ...groups, ...sharedParts };
  const outputsOf = (entries: readonly string[]) => entries.map((entry) => outputOf(metafile, entry));
  const started = closure(metafile, outputsOf(start.entries));
  const sizes = Object.entries(parts).map(([name, { entries, bytesMax, later }]) => {
    const own = outputsOf(entries);
    const others = Object.values(parts).flatMap((part) => outputsOf(part.entries));
    const stop = [...started, ...others.filter((output) => !own.includes(output))];
    const read = closure(metafile, own, later, later === true ? stop : [...started]);
    return { name, bytes: bytesIn(metafile, read), bytesMax };
  });
  return [{ name: 'start', bytes: bytesIn(metafile, started), bytesMax: start.bytesMax }, ...sizes];
}

export function bytesIn(metafile: Metafile, outputs: ReadonlySet<string>): number {
  return [...outputs].reduce((sum, output) => sum + (metafile.outputs[output]?.bytes ?? 0), 0);
}

/** The output with this entry module, or else the output that contains it. */
function outputOf(metafile: Metafile, input: string): string {
  const outputs = Object.entries(metafile.outputs);
  const found =
    outputs.find(([, output]) => output.entryPoint === input) ??
    outputs.find(([, output]) => input in output.inputs);
  if (found === undefined)
    throw new Error(`${input} is in no output: a budget names a module that does not exist`);
  return found[0];
}

/** The outputs that `entries` import statically; with `later` also their dynamic imports. */
export function closure(
  metafile: Metafile,
  entries: readonly string[],
  later = false,
  without: readonly string[] = [],
): Set<string> {
  const seen = new Set<string>();
  const open = [...entries];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (seen.has(name) || without.includes(name)) continue;
    seen.add(name);
    for (const { path, kind } of metafile.outputs[name]?.imports ?? []) {
      if ((later || kind === 'import-statement') && path in metafile.outputs) open.push(path);
    }
  }
  return seen;
}

function budgetFaults(sizes: readonly PartSize[]): string[] {
  return sizes
    .filter(({ bytes, bytesMax }) => bytes > bytesMax)
    .map(({ name, bytes, bytesMax }) => `${name} has ${bytes} bytes, over its budget of ${bytesMax}`);
}

function contentFaults(metafile: Metafile, texts: ReadonlyMap<string, string>): string[] {
  const faults: string[] = [];
  const entry = outputOf(metafile, 'functions/index.ts');
  const foreign = partsWithPackages
    .flatMap((name) => sharedParts[name]?.entries ?? [])
    .map((input) => outputOf(metafile, input));
  const ours = closure(metafile, [entry], true, foreign);
  for (const name of closure(metafile, [entry])) {
    const inputs = Object.keys(metafile.outputs[name]?.inputs ?? {});
    const early = inputs.filter((input) =>
      /^contracts\/generated\/(operations\/(?!load)|operations\.ts)/.test(input),
    );
    faults.push(...early.map((input) => `every function reads ${input} before its first request`));
  }
  for (const [name, output] of Object.entries(metafile.outputs)) {
    const packages = Object.keys(output.inputs).filter((input) => input.includes('node_modules/'));
    if (packages.some((input) => input.includes('node_modules/ajv')))
      faults.push(`${name} compiles schemas at run time`);
    if (!ours.has(name)) continue;
    if (packages[0] !== undefined) faults.push(`${name} holds ${packages[0]}`);
    if (/\bnew Function\b|\beval\(/.test(texts.get(name) ?? '')) faults.push(`${name} makes code from text`);
  }
  return faults;
}

if (import.meta.main) {
  const { outdir, sizes, faults } = await buildFunctions(join(root, 'dist/functions'));
  for (const { name, bytes, bytesMax } of sizes)
    console.log(`${name.padEnd(12)} ${String(bytes).padStart(9)} of ${bytesMax} bytes`);
  for (const fault of faults) console.error(fault);
  if (faults.length === 0) console.log(`Ready to deploy: ${relative(root, outdir)}`);
  else process.exitCode = 1;
}
