import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Metafile } from 'esbuild';
import { bundle, copyDocs, writeFiles } from './bundle.ts';
import { budgetFaults, bytesIn, closure, outputOf, type PartSize } from './parts.ts';
import { projectPackage, root } from './project.ts';

/**
 * The embedded server and the operator tool as one package without dependencies: `svc-<version>/`, and the same as an archive
 * that `npm install --global` or `tar` unpacks.
 */

export interface ServerReport {
  readonly folder: string;
  readonly archive: string;
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
const as = 'dist/server';
/** The schema that `svc api --help` reads on demand, by the path that its code names. */
const schema = 'contracts/generated/schemas/svc-public.schema.json';

export async function buildServer(parent: string): Promise<ServerReport> {
  const { name, version, license, devDependencies } = projectPackage();
  const folder = join(parent, `${name}-${version}`);
  // `pg-native` is another driver of PostgreSQL, which this project never loads.
  const { metafile, files } = await bundle({
    entryPoints: { ...programs, ...devScripts },
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
  await copy([schema, 'LICENSE', 'CHANGELOG.md'], folder);
  await Promise.all(Object.keys(programs).map((program) => writeProgram(folder, program)));
  const description = {
    name,
    version,
    private: true,
    license,
    type: 'module',
    bin: Object.fromEntries(Object.keys(programs).map((program) => [program, `bin/${program}`])),
    engines: { node: '>=24' },
  };
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(description, null, 2)}\n`);
  const sizes = sizesOf(metafile);
  return { folder, archive: await pack(folder, parent), sizes, faults: budgetFaults(sizes) };
}

async function copy(paths: readonly string[], folder: string): Promise<void> {
  for (const path of paths) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await cp(join(root, path), join(folder, path));
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

/** npm gives each file of an archive the same date and owner, so that the same files make the same bytes. */
async function pack(folder: string, parent: string): Promise<string> {
  const words = ['pack', '--json', '--ignore-scripts', '--offline', '--pack-destination', parent];
  await promisify(execFile)('npm', words, { cwd: folder });
  const { name, version } = projectPackage();
  return join(parent, `${name}-${version}.tgz`);
}

/** The JavaScript that each program reads at its start, and the whole. */
function sizesOf(metafile: Metafile): readonly PartSize[] {
  const sizeOf = (label: string, entries: readonly string[], later: boolean, bytesMax: number) => {
    const outputs = entries.map((entry) => outputOf(metafile, entry));
    return { name: label, bytes: bytesIn(metafile, closure(metafile, outputs, later)), bytesMax };
  };
  return [
    sizeOf('start of svc-server', [programs['svc-server'], 'functions/embedded-server.ts'], false, 228_800),
    sizeOf('start of svc', [programs.svc], false, 1_090_000),
    sizeOf('svc-server and svc, whole', Object.values(programs), true, 10_500_000),
  ];
}
