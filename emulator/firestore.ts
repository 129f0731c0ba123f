import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, readdir } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/**
 * The official Firestore emulator. Its licence forbids redistribution, so this code looks for it on the machine and
 * never downloads it.
 */
export interface RunningEmulator {
  /** `host:port`, the form of `FIRESTORE_EMULATOR_HOST`. */
  readonly host: string;
  /** Settles with the reason when the emulator ends; never for an emulator that another process runs. */
  readonly ended: Promise<string>;
  stop(): Promise<void>;
}

export interface EmulatorOptions {
  /** Default: a free port. */
  readonly port?: number;
  readonly log?: (line: string) => void;
}

/** No emulator was found; the message lists every place that was searched. */
export class EmulatorNotFound extends Error {
  override readonly name = 'EmulatorNotFound';
}

const mainClass = 'com.google.cloud.datastore.emulator.firestore.CloudFirestore';
const jarInSdk = join('platform', 'cloud-firestore-emulator', 'cloud-firestore-emulator.jar');
const startTimeoutMs = 60_000;
const STARTS_MAX = 3;
const stopTimeoutMs = 5_000;

export async function startFirestoreEmulator(options: EmulatorOptions = {}): Promise<RunningEmulator> {
  const running = process.env['FIRESTORE_EMULATOR_HOST'];
  if (running !== undefined && running !== '')
    return { host: running, ended: new Promise(() => {}), stop: () => Promise.resolve() };
  if (options.port !== undefined) return startOn(options.port, options);
  // Another process may have taken a free port before the emulator binds it.
  for (let starts = 1; ; starts += 1) {
    try {
      return await startOn((await freePorts(1))[0] ?? 0, options);
    } catch (error) {
      if (starts === STARTS_MAX || !/already in use|Failed to bind/i.test(String(error))) throw error;
    }
  }
}

async function startOn(port: number, options: EmulatorOptions): Promise<RunningEmulator> {
  const jar = await findJar();
  const java = await findJava();
  const host = `127.0.0.1:${port}`;
  const child = startTied([
    java,
    '-Xmx1g',
    '-Duser.language=en',
    '-cp',
    jar,
    mainClass,
    'start',
    '--host',
    '127.0.0.1',
    '--port',
    String(port),
  ]);
  const lines: string[] = [];
  const listen = (chunk: Buffer): void => {
    for (const line of chunk.toString().split('\n').filter(Boolean)) {
      lines.push(line);
      options.log?.(line);
    }
    lines.splice(0, lines.length - 20);
  };
  child.stdout.on('data', listen);
  child.stderr.on('data', listen);
  let ended: string | undefined;
  const exited = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => resolve(`it ended with ${signal ?? code}`));
  });
  child.on('error', (error) => (ended ??= error.message));
  child.on('exit', (code, signal) => {
    ended ??= `it ended with ${signal ?? code}`;
    child.stdin.destroy();
  });
  const stop = async (): Promise<void> => {
    if (ended !== undefined) return;
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    const force = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs);
    await exit;
    clearTimeout(force);
  };
  try {
    await ready(host, () => ended);
  } catch (error) {
    await stop();
    throw new Error(`the Firestore emulator did not start: ${String(error)}\n${lines.join('\n')}`, {
      cause: error,
    });
  }
  return { host, ended: exited, stop };
}

/**
 * A process that ends with this one, even after a crash: the shell executes the program, so that signals reach it,
 * and leaves a reader of a pipe that closes when this process ends.
 */
function startTied(command: readonly string[]) {
  if (process.platform === 'win32') {
    const [program = '', ...words] = command;
    return spawn(program, words, { stdio: ['pipe', 'pipe', 'pipe'] });
  }
  const script = 'exec 3<&0; (cat <&3; kill -KILL $$) >/dev/null 2>&1 & exec "$@" 3<&- </dev/null';
  // A process group of its own: Ctrl-C in a terminal must not stop the database before the functions that use it.
  return spawn('sh', ['-c', script, 'sh', ...command], { stdio: ['pipe', 'pipe', 'pipe'], detached: true });
}

async function ready(host: string, ended: () => string | undefined): Promise<void> {
  const until = Date.now() + startTimeoutMs;
  for (;;) {
    const reason = ended();
    if (reason !== undefined) throw new Error(reason);
    try {
      const response = await fetch(`http://${host}/`);
      if ((await response.text()).startsWith('Ok')) return;
    } catch {
      // No process listens yet.
    }
    if (Date.now() > until) throw new Error(`no answer within ${startTimeoutMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The jar file of the emulator. Throws `EmulatorNotFound`. */
export async function findJar(): Promise<string> {
  const given = process.env['FIRESTORE_EMULATOR_JAR'];
  const candidates = given
    ? [given]
    : [...(await sdkRoots()).map((root) => join(root, jarInSdk)), ...(await firebaseJars())];
  for (const candidate of candidates) if (await exists(candidate)) return candidate;
  const looked = [
    'FIRESTORE_EMULATOR_HOST (a running one)',
    'FIRESTORE_EMULATOR_JAR',
    ...candidates,
    ...(given ? [] : [join(firebaseCache(), 'cloud-firestore-emulator-*.jar')]),
  ];
  throw new EmulatorNotFound(
    `no Firestore emulator found. Looked for: ${looked.join('; ')}. Install it with ` +
      '"gcloud components install cloud-firestore-emulator" or "firebase setup:emulators:firestore".',
  );
}

async function sdkRoots(): Promise<string[]> {
  const wellKnown = [
    join(homedir(), 'google-cloud-sdk'),
    '/usr/lib/google-cloud-sdk',
    '/opt/google-cloud-sdk',
    '/usr/local/google-cloud-sdk',
    '/opt/homebrew/share/google-cloud-sdk',
    '/snap/google-cloud-sdk/current',
  ];
  try {
    // Look in the usual folders first: starting the gcloud tool takes a second.
    for (const root of wellKnown) if (await exists(join(root, jarInSdk))) return [root];
    const words = ['info', '--format=value(installation.sdk_root)'];
    const { stdout } = await promisify(execFile)('gcloud', words, { timeout: 20_000 });
    return stdout.trim() === '' ? wellKnown : [stdout.trim(), ...wellKnown];
  } catch {
    return wellKnown;
  }
}

function firebaseCache(): string {
  return join(homedir(), '.cache', 'firebase', 'emulators');
}

/** The newest first. */
async function firebaseJars(): Promise<string[]> {
  try {
    const names = await readdir(firebaseCache());
    const jars = names.filter((name) => /^cloud-firestore-emulator-.*\.jar$/.test(name));
    const newest = new Intl.Collator('en', { numeric: true });
    return jars.sort((left, right) => newest.compare(right, left)).map((name) => join(firebaseCache(), name));
  } catch {
    return [];
  }
}

/** The Java program that runs the emulator. Throws `EmulatorNotFound`. */
export async function findJava(): Promise<string> {
  const home = process.env['JAVA_HOME'];
  const candidates = [...(home ? [join(home, 'bin', 'java')] : []), 'java'];
  for (const candidate of candidates) {
    try {
      await promisify(execFile)(candidate, ['-version'], { timeout: 20_000 });
      return candidate;
    } catch {}
  }
  throw new EmulatorNotFound(
    `the Firestore emulator needs Java 11 or later. Looked for: ${candidates.join('; ')}.`,
  );
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    return false;
  }
}

/** Different loopback ports that are free at this moment. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}
