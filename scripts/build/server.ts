import { chmod, cp, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Metafile } from 'esbuild';
import { archiveName, commonKeywords, registryMembers, SCOPE } from '../packages/metadata.ts';
import { compile, copyCommonFiles, copyPage, packFolder, writeManifest } from '../packages/npm-archive.ts';
import { bundle, copyDocs, writeFiles } from './bundle.ts';
import { budgetFaults, bytesIn, closure, outputOf, type PartSize } from './parts.ts';
import { projectPackage, root } from './project.ts';

/**
 * `@svc-runtime/server`: the embedded server and the operator tool as one package without dependencies, as a folder and as an
 * archive that `npm install` or `tar` unpacks.
 */

export interface ServerReport {
  readonly folder: string;
  readonly archive: string;
  /** The packages whose code is in the bundle, by their folder in the lock file. */
  readonly bundled: readonly string[];
  readonly sizes: readonly PartSize[];
  readonly faults: readonly string[];
}

const programs = { 'svc-server': 'functions/embedded.ts', svc: 'cli/main.ts' };
/** Scripts that `svc dev` starts as processes, and the copy of the client that a worker without one gets. */
const devScripts = {
  'dev-server': 'cli/dev/server-main.ts',
  'dev-worker': 'cli/dev/worker-main.ts',
  client: 'sdk/typescript/src/index.ts',
  'client-worker': 'sdk/typescript/src/worker/index.ts',
  'renewal-thread': 'sdk/typescript/src/worker/renewal-thread.ts',
};
const library = { compose: 'functions/composed-service.ts' };
/** `npx @svc-runtime/server` runs the command that is named like the package. */
const bin = { server: 'bin/svc-server', 'svc-server': 'bin/svc-server', svc: 'bin/svc' };
const as = 'dist/server';
/** The schema that `svc api --help` reads on demand, by the path that its code names. */
const schema = 'contracts/generated/schemas/svc-public.schema.json';
/** The files that the pages on production, on the image and on the ways to run it tell an operator to copy. */
const samples = ['embedded', 'image', 'compose', 'kubernetes', 'cloud-run'].map((name) => `infra/${name}`);
const SETTINGS_SCHEMA = 'svcsettings.schema.json';

const metadata = {
  name: `${SCOPE}/server`,
  description:
    'Tenant-scoped canonical store, durable execution runtime and one public contract over both, on one machine',
  directory: '.',
  keywords: [
    ...commonKeywords,
    'server',
    'sqlite',
    'postgresql',
    'mysql',
    'firestore',
    'mcp',
    'vector-search',
  ],
};

/** The folder and the archive of the package, without the ending. */
const place = () => archiveName(metadata.name).replace(/\.tgz$/, '');

export async function buildServer(parent: string): Promise<ServerReport> {
  const { name, version, devDependencies } = projectPackage();
  const folder = join(parent, place());
  // `pg-native` is another driver of PostgreSQL, which this project never loads.
  const { metafile, files } = await bundle({
    entryPoints: { ...programs, ...library, ...devScripts },
    as,
    external: ['supports-color', 'pg-native'],
    // `svc doctor` compares the running Node with the tested one.
    members: { name, version, devDependencies: { node: devDependencies['node'] } },
  });
  await writeFiles(folder, new Map());
  const code = join(folder, 'lib/code');
  await writeFiles(code, files);
  await copyDocs(code);
  await cp(join(root, 'create-svc-app/templates'), join(code, 'templates'), { recursive: true });
  await copy([schema, ...samples], folder);
  await cp(join(root, 'docs/reference', SETTINGS_SCHEMA), join(folder, SETTINGS_SCHEMA));
  await copyCommonFiles(folder);
  await copyPage('packages/server/README.md', 'packages/server', folder);
  await writeTypes(code);
  await Promise.all(Object.keys(programs).map((program) => writeProgram(folder, program)));
  await writeManifest(folder, description());
  const sizes = sizesOf(metafile);
  const archive = await packFolder(folder, parent);
  return { folder, archive, bundled: bundledPackages(metafile), sizes, faults: budgetFaults(sizes) };
}

function description() {
  return {
    ...registryMembers(metadata),
    type: 'module',
    bin,
    exports: {
      './compose': { types: './lib/code/compose.d.ts', default: './lib/code/compose.js' },
      [`./${SETTINGS_SCHEMA}`]: `./${SETTINGS_SCHEMA}`,
      './package.json': './package.json',
    },
    engines: { node: '>=24' },
  };
}

/** Declares the importable module. The types beside it import nothing, so that they need no other file of the sources. */
async function writeTypes(code: string): Promise<void> {
  const flags =
    '--ignoreConfig --declaration --emitDeclarationOnly --target es2024 --strict --types node'.split(' ');
  const types = 'composed-service-types';
  await compile([...flags, '--outDir', code, join(root, 'functions', `${types}.ts`)]);
  const lines = [
    `import type { ComposeService } from './${types}.js';`,
    `export type { ComposedService, ComposedServiceOptions, ComposeService } from './${types}.js';`,
    '/** Puts the service together in this process. Throws an error that lists the faults of the settings. */',
    'export declare const composeService: ComposeService;',
  ];
  await writeFile(join(code, 'compose.d.ts'), `${lines.join('\n')}\n`);
}

/** The folders of `node_modules` of which the bundle holds code. */
function bundledPackages(metafile: Metafile): string[] {
  const folders = Object.values(metafile.outputs)
    .flatMap(({ inputs }) => Object.entries(inputs))
    .flatMap(([path, { bytesInOutput }]) =>
      bytesInOutput > 0 ? (/^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []) : [],
    );
  return [...new Set(folders)].sort();
}

async function copy(paths: readonly string[], folder: string): Promise<void> {
  for (const path of paths) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await cp(join(root, path), join(folder, path), { recursive: true });
  }
}

async function writeProgram(folder: string, program: string): Promise<void> {
  const path = join(folder, 'bin', program);
  await mkdir(dirname(path), { recursive: true });
  // The message of an older Node about the first module that it lacks does not name the remedy.
  const lines = [
    '#!/usr/bin/env node',
    'if (Number.parseInt(process.versions.node, 10) < 24) {',
    `  console.error(\`${program} needs Node 24 or later; this is Node \${process.versions.node}.\`);`,
    '  process.exit(1);',
    '}',
    `await import('../lib/code/${program}.js');`,
  ];
  await writeFile(path, `${lines.join('\n')}\n`);
  await chmod(path, 0o755);
}

/** The JavaScript that each program reads at its start, and the whole. */
function sizesOf(metafile: Metafile): readonly PartSize[] {
  const sizeOf = (label: string, entries: readonly string[], later: boolean, bytesMax: number) => {
    const outputs = entries.map((entry) => outputOf(metafile, entry));
    return { name: label, bytes: bytesIn(metafile, closure(metafile, outputs, later)), bytesMax };
  };
  return [
    sizeOf('start of svc-server', [programs['svc-server'], 'functions/embedded-server.ts'], false, 231_000),
    sizeOf('start of svc', [programs.svc], false, 1_106_000),
    sizeOf('svc-server and svc, whole', Object.values(programs), true, 10_500_000),
  ];
}
