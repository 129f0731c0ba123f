/**
 * Runs the conformance suite on Firestore inside `firebase emulators:exec`, with the rules of this project:
 *
 *     npm install --prefix infra
 *     npm run --prefix infra emulators:exec
 *
 * firebase-tools starts the emulator of the Google Cloud CLI on Java 21 or later. Without Java 21 or later the run
 * reports one skipped test with the reason; a missing emulator fails in CI.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { EmulatorNotFound, findJar, freePorts } from '../emulator/firestore.ts';
import { findRecentJava, javaNeeded, launcherJar } from './emulators/launcher.ts';

const root = resolve(import.meta.dirname, '..');
const work = join(root, 'dist/firebase');
const report = join(root, 'dist/test-reports/firebase.json');
const times = join(root, 'dist/test-reports/firebase-times.json');
const firebase = join(root, 'infra/node_modules/firebase-tools/lib/bin/firebase.js');
const isCi = process.env['CI'] === 'true';

async function main(): Promise<number> {
  for (const path of [report, times]) rmSync(path, { force: true });
  const java = findRecentJava();
  if (java === undefined) return skip(`no Java ${javaNeeded} or later was found`);
  let jar: string;
  try {
    jar = await findJar();
  } catch (error) {
    if (!(error instanceof EmulatorNotFound)) throw error;
    return isCi ? fail(error.message) : skip(error.message);
  }
  if (!isInstalled() && isCi) install();
  if (!isInstalled()) return fail('firebase-tools is missing or another version: npm install --prefix infra');
  await prepare(jar);
  return run(java);
}

/** One skipped test, so that the totals of a run show that the suite was left out. */
function skip(reason: string): number {
  const fullName = `the Firestore conformance suite inside firebase emulators:exec: left out, ${reason}`;
  const test = { title: fullName, fullName, status: 'skipped' };
  const file = {
    name: import.meta.filename,
    status: 'passed',
    startTime: 0,
    endTime: 0,
    assertionResults: [test],
  };
  mkdirSync(dirname(report), { recursive: true });
  writeFileSync(report, JSON.stringify({ testResults: [file] }));
  console.error(fullName);
  return 0;
}

function fail(reason: string): number {
  console.error(reason);
  return 1;
}

function isInstalled(): boolean {
  const path = join(root, 'infra/node_modules/firebase-tools/package.json');
  if (!existsSync(path)) return false;
  const wanted = readJson(join(root, 'infra/package.json')) as {
    readonly devDependencies: Readonly<Record<string, string>>;
  };
  const { version } = readJson(path) as { readonly version: string };
  return version === wanted.devDependencies['firebase-tools'];
}

function install(): void {
  spawnSync('npm', ['ci', '--prefix', join(root, 'infra')], { stdio: 'inherit', cwd: root });
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'));
}

/** A copy of `firebase.json` and its files with free ports: another emulator may run on this machine. */
async function prepare(jar: string): Promise<void> {
  rmSync(work, { recursive: true, force: true });
  mkdirSync(join(work, 'infra'), { recursive: true });
  const config = readJson(join(root, 'firebase.json')) as {
    readonly firestore: { readonly rules: string; readonly indexes: string };
    readonly emulators: { readonly firestore: object };
  };
  for (const path of [config.firestore.rules, config.firestore.indexes])
    cpSync(join(root, path), join(work, path));
  const [port, websocketPort, hub, logging] = await freePorts(4);
  const emulators = {
    ...config.emulators,
    firestore: { ...config.emulators.firestore, port, websocketPort },
    hub: { host: '127.0.0.1', port: hub },
    logging: { host: '127.0.0.1', port: logging },
  };
  writeFileSync(join(work, 'firebase.json'), JSON.stringify({ ...config, emulators }));
  writeFileSync(join(work, 'launcher.jar'), launcherJar(jar));
}

async function run(java: string): Promise<number> {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const words = ['run', '--root', root, '--config', join(root, 'vitest.firebase.config.ts')];
  const suite = [process.execPath, vitest, ...words, `--outputFile.json=${report}`];
  const command = suite.map((word) => `"${word}"`).join(' ');
  const project = ['--only', 'firestore', '--project', 'demo-svc'];
  const child = spawn(process.execPath, [firebase, 'emulators:exec', ...project, command], {
    cwd: work,
    stdio: 'inherit',
    env: {
      ...process.env,
      // The command line looks for Java in PATH alone.
      PATH: [dirname(java), process.env['PATH']].join(delimiter),
      FIRESTORE_EMULATOR_BINARY_PATH: join(work, 'launcher.jar'),
      JAVA_TOOL_OPTIONS: '-Xmx1g',
      // Its settings and logs stay in this folder.
      XDG_CONFIG_HOME: join(work, 'config'),
    },
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code === 0 && !existsSync(report)) return fail('the suite left no report');
  return code ?? 1;
}

process.exitCode = await main();
