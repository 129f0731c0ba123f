import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { accessSync, chownSync, constants, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createConnection } from 'mysql2/promise';
import type { TestProject } from 'vitest/node';

/** How a test reaches the run's server: a Unix socket, and a user who may do everything. */
export interface MysqlServer {
  readonly socketPath: string;
  readonly user: string;
  readonly password: string;
}

declare module 'vitest' {
  export interface ProvidedContext {
    /** The address of the run's MariaDB, or the reason why it is missing. */
    readonly mysql: MysqlServer | { readonly reason: string };
  }
}

const startMaxMs = 120_000;

class ServerNotFound extends Error {}

/** One server for the whole run. Without one the tests that need it are left out, except where CI counts on them. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  try {
    const { server, stop } = await startMysqlServer();
    project.provide('mysql', server);
    return stop;
  } catch (error) {
    if (!(error instanceof ServerNotFound) || process.env['CI'] === 'true') throw error;
    project.provide('mysql', { reason: error.message });
    return () => Promise.resolve();
  }
}

/**
 * The shell ends the server and removes its folder when its input ends: when the test closes it, and also when the process
 * that started it has ended in any way. On a machine under load the installation sometimes fails, so it is tried three times.
 */
const keeper = `
  folder=$1 install=$2 server=$3
  shift 3
  tries=3
  until $install --no-defaults --datadir="$folder/data" --auth-root-authentication-method=normal --skip-test-db \\
    --skip-name-resolve >> "$folder/log" 2>&1
  do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || exit 1
    rm -rf "$folder/data"
  done
  "$server" --no-defaults --datadir="$folder/data" "$@" &
  child=$!
  cat > /dev/null
  kill -TERM "$child" && wait "$child"
  cd / && rm -rf "$folder"
`;

/** A MariaDB of its own, with nothing but a Unix socket, in a temporary folder. */
export async function startMysqlServer(settings: readonly string[] = []) {
  const [install, program] = [find('mariadb-install-db'), find('mariadbd')];
  const folder = mkdtempSync(join(tmpdir(), 'mysql-'));
  const account = unprivileged();
  if (account !== undefined) chownSync(folder, account.uid, account.gid);
  const socketPath = join(folder, 'socket');
  const shell = spawn(
    'sh',
    [
      '-c',
      keeper,
      'keeper',
      folder,
      install,
      program,
      `--socket=${socketPath}`,
      `--pid-file=${join(folder, 'pid')}`,
      '--skip-networking',
      '--skip-name-resolve',
      '--innodb-log-file-size=64M',
      // Tests do not cut the power; without a flush for each commit they are done sooner.
      '--innodb-flush-log-at-trx-commit=2',
      ...settings,
    ],
    // A group of its own: an interrupt from the terminal is meant for the tests.
    { cwd: folder, detached: true, stdio: ['pipe', 'ignore', 'pipe'], ...account },
  );
  const ended = new Promise<void>((resolve) => {
    shell.once('exit', () => resolve());
    shell.once('error', () => resolve());
  });
  const stop = async (): Promise<void> => {
    shell.stdin?.end();
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const server = { socketPath, user: 'svc', password: randomBytes(12).toString('hex') };
    await ready(shell);
    await createUser(server);
    return { server, stop };
  } catch (error) {
    const log = readLog(join(folder, 'log'));
    await stop();
    throw new Error(`MariaDB did not start: ${String(error)}\n${log}`, { cause: error });
  }
}

/** Waits for the log line of a server that accepts connections, and reads the log on, so that its pipe never fills. */
function ready(shell: ChildProcess): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let text = '';
  let isReady = false;
  const fail = (reason: string) => reject(new Error(`${reason}\n${text.slice(-4_000)}`));
  const bound = setTimeout(() => fail(`It was not ready after ${startMaxMs} ms`), startMaxMs);
  shell.once('exit', () => fail('It has ended'));
  shell.once('error', (error) => fail(error.message));
  shell.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    if (isReady) return;
    text += chunk;
    isReady = text.includes('ready for connections');
    if (isReady) resolve();
  });
  return promise.finally(() => clearTimeout(bound));
}

async function createUser({ socketPath, user, password }: MysqlServer): Promise<void> {
  const connection = await createConnection({ socketPath, user: 'root' });
  await connection.query(`CREATE USER ${user}@localhost IDENTIFIED BY '${password}'`);
  await connection.query(`GRANT ALL ON *.* TO ${user}@localhost WITH GRANT OPTION`);
  await connection.end();
}

/** Debian keeps servers where only the administrator's PATH leads. */
function find(name: string): string {
  for (const folder of [...(process.env['PATH'] ?? '').split(':'), '/usr/sbin', '/usr/local/sbin']) {
    const path = join(folder, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // Not here.
    }
  }
  throw new ServerNotFound(`${name} is not installed (Debian: apt-get install mariadb-server)`);
}

/** The server refuses to run as root. */
function unprivileged(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['mysql', 'nobody']) {
    try {
      const id = (flag: string) => Number(execFileSync('id', [flag, name], { stdio: 'pipe' }).toString());
      return { uid: id('-u'), gid: id('-g') };
    } catch {
      // No such user.
    }
  }
  throw new ServerNotFound('MariaDB does not run as root, and neither the user "mysql" nor "nobody" exists');
}

function readLog(path: string): string {
  try {
    return readFileSync(path, 'utf8').split('\n').slice(-200).join('\n');
  } catch {
    return '(no log)';
  }
}
