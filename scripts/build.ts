import { readFileSync, statSync } from 'node:fs';
import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { type BuildResult, build, type Metafile, type Plugin } from 'esbuild';

/**
 * Bundles the functions for the cloud: `npm run build` fills `dist/functions/`, which can be deployed as it is. A cold
 * start reads a handful of files instead of thousands, and each function only those of its own group and provider.
 */

const root = resolve(import.meta.dirname, '..');
const framework = '@google-cloud/functions-framework';

/**
 * Bytes of JavaScript that a function reads, by when it reads them. A budget that is passed fails the build: raise it on
 * purpose, or find out what came in.
 */
const budgets = {
  /** Before the first request, in every function. */
  start: 165_000,
  server: 30_000,
  /** The page `/docs`, where it is enabled; its files are read when they are asked for. */
  docs: 15_000,
  /** With the first guide that is read there. */
  guides: 60_000,
  canonical: 280_000,
  execution: 430_000,
  sqlite: 60_000,
  firestore: 3_300_000,
  postgresql: 200_000,
  mysql: 1_200_000,
  /** With the first token that is verified; shares most of it with the driver of Firestore. */
  oidc: 600_000,
  /** The hosted worker, and what the scheduler calls; shares most of it with `execution`. */
  besideGroups: 90_000,
  /** How messages of runs are made for Cloud Tasks; its client comes with the first of them. */
  cloudQueue: 10_000,
  /** Shares most of it with the driver of Firestore. */
  cloudTasks: 2_900_000,
  /** With the first artifact that lies in a bucket; shares most of it with `oidc`. */
  cloudStorage: 640_000,
} as const;

/** What each part of a budget is entered by; `start` is the static import closure of the entry point. */
const parts: Readonly<Record<Exclude<keyof typeof budgets, 'start'>, readonly string[]>> = {
  server: ['functions/groups/server/handlers.ts', 'functions/groups/server/server-info.ts'],
  docs: ['functions/groups/server/docs/docs.ts'],
  guides: ['functions/groups/server/docs/markdown.ts'],
  canonical: ['functions/groups/canonical/handlers.ts', 'contracts/generated/validators/canonical.js'],
  execution: [
    'functions/compose/execution.ts',
    'functions/groups/execution/handlers.ts',
    'functions/runs/engine.ts',
    'functions/runs/handler-registry.ts',
    'functions/runs/product-policy.ts',
    'functions/runs/run-watch.ts',
    'functions/runs/settle.ts',
    'functions/kernel/ordered-id.ts',
    'functions/queue/local/local-queue.ts',
    'functions/blobs/files/store.ts',
    'contracts/generated/validators/execution.js',
  ],
  sqlite: ['functions/store/sqlite/store.ts'],
  firestore: ['functions/store/firestore/store.ts'],
  postgresql: ['functions/store/postgres/store.ts'],
  mysql: ['functions/store/mysql/store.ts'],
  oidc: ['functions/identity/oidc/auth-library.ts'],
  cloudStorage: ['functions/blobs/cloud-storage/store.ts'],
  besideGroups: [
    'functions/groups/execution/delivery-operation.ts',
    'functions/groups/execution/scheduled-operations.ts',
  ],
  cloudQueue: ['functions/queue/cloud-tasks/cloud-tasks-queue.ts', 'functions/queue/cloud-tasks/routes.ts'],
  cloudTasks: ['functions/queue/cloud-tasks/client.ts'],
};

/** A module of CommonJS expects these; ESM has them under other names. */
const banner = [
  `import { createRequire as svcCreateRequire } from 'node:module';`,
  `import { dirname as svcDirname } from 'node:path';`,
  `import { fileURLToPath as svcFileURLToPath } from 'node:url';`,
  `const require = svcCreateRequire(import.meta.url);`,
  `const __filename = svcFileURLToPath(import.meta.url);`,
  `const __dirname = svcDirname(__filename);`,
].join('');

export interface BuildReport {
  readonly outdir: string;
  readonly bytes: Readonly<Record<keyof typeof budgets, number>>;
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
    // The framework finds functions in a registry of its own; a second copy of it would be invisible to the first.
    // `debug` takes colours where it finds them, and tools of development bring them: a build must not depend on those.
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
  const bytes = bytesOf(metafile);
  const texts = new Map(outputFiles.map((file) => [relative(root, file.path), file.text]));
  return { outdir, bytes, faults: [...budgetFaults(bytes), ...contentFaults(metafile, texts)] };
}

function isPage(path: string): boolean {
  return path.endsWith('.md') || statSync(path).isDirectory();
}

/** What the page `/docs` is read from, where `compose.ts` looks for it in a bundle. */
async function copyDocs(outdir: string): Promise<void> {
  await cp(join(root, 'functions/docs'), join(outdir, 'docs'), { recursive: true });
  await cp(join(root, 'docs'), join(outdir, 'docs/pages'), { recursive: true, filter: isPage });
}

/** Of the project's own description only the release is read; the rest has no business in the cloud. */
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
 * The client of Cloud Tasks reads its descriptions by a path that it puts together, which a bundle breaks: the reads become
 * ones that esbuild understands. A version of it that is written otherwise fails the build.
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
        if (!pattern.test(contents)) throw new Error(`${path} is not written as it was`);
        contents = contents.replace(pattern, (whole) => `${whole.split('=', 1).join('')}= ${value};`);
      }
      contents = contents.replace(/const dirname = path\.dirname\(fileURLToPath\(import\.meta\.url\)\);/, '');
      return { contents, loader: 'js', resolveDir: folder };
    });
    // Reads what it is told to; nobody tells it any more.
    bundle.onLoad({ filter: /@google-cloud[\\/]tasks[\\/]build[\\/].*json-helper\.cjs$/ }, () => ({
      contents: 'module.exports = { getJSON: undefined };',
      loader: 'js',
    }));
  },
};

/** Earlier versions of the service, which nobody calls. */
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

function bytesOf(metafile: Metafile): BuildReport['bytes'] {
  const entry = outputOf(metafile, 'functions/index.ts');
  const start = closure(metafile, [entry]);
  const measure = (outputs: ReadonlySet<string>) =>
    [...outputs].reduce((sum, output) => sum + (metafile.outputs[output]?.bytes ?? 0), 0);
  const later = Object.entries(parts).map(([part, inputs]) => {
    const outputs = closure(
      metafile,
      inputs.map((input) => outputOf(metafile, input)),
    );
    return [part, measure(new Set([...outputs].filter((output) => !start.has(output))))];
  });
  return { start: measure(start), ...Object.fromEntries(later) } as BuildReport['bytes'];
}

/** The output that a module is entered by, or else the one that it lies in. */
function outputOf(metafile: Metafile, input: string): string {
  const outputs = Object.entries(metafile.outputs);
  const found =
    outputs.find(([, output]) => output.entryPoint === input) ??
    outputs.find(([, output]) => input in output.inputs);
  if (found === undefined) throw new Error(`${input} is in no output: the budgets name what does not exist`);
  return found[0];
}

/** The outputs that loading `entries` loads; with `later` also those that may be loaded on demand. */
function closure(
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

function budgetFaults(bytes: BuildReport['bytes']): string[] {
  return Object.entries(budgets)
    .filter(([part, budget]) => bytes[part as keyof typeof budgets] > budget)
    .map(
      ([part, budget]) =>
        `${part} has ${bytes[part as keyof typeof budgets]} bytes, over its budget of ${budget}`,
    );
}

function contentFaults(metafile: Metafile, texts: ReadonlyMap<string, string>): string[] {
  const faults: string[] = [];
  // Only these bring packages along; everything else starts without any.
  const { firestore, postgresql, mysql, oidc, cloudStorage, cloudTasks, guides } = parts;
  const withPackages = [firestore, postgresql, mysql, oidc, cloudStorage, cloudTasks, guides];
  const foreign = withPackages.flat().map((input) => outputOf(metafile, input));
  const ours = closure(metafile, [outputOf(metafile, 'functions/index.ts')], true, foreign);
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
  const { outdir, bytes, faults } = await buildFunctions(join(root, 'dist/functions'));
  for (const [part, size] of Object.entries(bytes)) {
    console.log(
      `${part.padEnd(10)} ${String(size).padStart(9)} of ${budgets[part as keyof typeof budgets]} bytes`,
    );
  }
  for (const fault of faults) console.error(fault);
  if (faults.length === 0) console.log(`Ready to deploy: ${relative(root, outdir)}`);
  else process.exitCode = 1;
}
