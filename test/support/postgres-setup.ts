import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync } from 'node:fs';
import { mkdtemp, readdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The folder of the Unix socket of the run's PostgreSQL, or the reason why it is missing. */
    readonly postgres: { readonly socketFolder: string } | { readonly reason: string };
  }
}

/** No server can start here; the message lists the programs that were searched for. */
class PostgresNotFound extends Error {
  override readonly name = 'PostgresNotFound';
}

const run = promisify(execFile);
const startTimeoutMs = 180_000;
/** Where Debian and its kin put the programs of each version. */
const debianFolder = '/usr/lib/postgresql';
/** The first whose databases may have the order of a language without its being installed. */
const versionMin = 15;

/** One server for the whole run. Without one the tests that need it are left out, except where CI counts on them. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  try {
    const server = await startPostgres();
    project.provide('postgres', { socketFolder: server.socketFolder });
    return () => server.stop();
  } catch (error) {
    if (!(error instanceof PostgresNotFound) || process.env['CI'] === 'true') throw error;
    project.provide('postgres', { reason: error.message });
    return () => Promise.resolve();
  }
}

export interface RunningPostgres {
  readonly socketFolder: string;
  stop(): Promise<void>;
}

/** A new server in a temporary folder, reached by a Unix socket alone, with nothing about durability relaxed. */
export async function startPostgres(settings: readonly string[] = []): Promise<RunningPostgres> {
  const programs = await findPrograms();
  const user = await unprivilegedUser();
  const folder = await mkdtemp(join(tmpdir(), 'svc-postgres-'));
  const child = startTied(folder, programs, user, settings);
  child.stdout.resume();
  const lines: string[] = [];
  child.stderr.on('data', (chunk: Buffer) => {
    lines.push(chunk.toString());
    lines.splice(0, lines.length - 20);
  });
  const closed = once(child, 'close');
  const stop = async (): Promise<void> => {
    child.stdin.end();
    await closed;
  };
  try {
    await ready(join(folder, '.s.PGSQL.5432'), () => child.exitCode ?? child.signalCode);
  } catch (error) {
    await stop();
    throw new Error(`PostgreSQL did not start: ${String(error)}\n${lines.join('')}`, { cause: error });
  }
  return { socketFolder: folder, stop };
}

/**
 * The database's own order is that of a language, so that code which relies on it instead of on bytes fails.
 *
 * Neither the server nor its folder outlives this process, however it ends. The shell leaves behind a reader of a pipe that
 * closes with us, which then has the server stop at once (`SIGQUIT`) and removes the folder; it turns into the server
 * itself. Both are out of reach of the interrupt that a terminal sends.
 */
const script = `
  folder=$1 programs=$2 settings=$3
  shift 3
  exec 3<&0 </dev/null
  (
    trap '' INT TERM HUP
    cat <&3 >/dev/null
    turns=0
    while kill -QUIT $$ && [ $turns -lt 50 ]; do turns=$((turns + 1)); sleep 0.1; done
    kill -KILL $$
    while [ -e "$folder" ] && ! rm -rf "$folder"; do sleep 0.1; done
  ) 2>/dev/null &
  exec 3<&-
  cd "$folder" || exit
  "$@" "$programs/initdb" --pgdata "$folder/data" --username svc --auth trust --no-sync \
    --encoding UTF8 --locale-provider icu --icu-locale en --locale C || exit
  exec "$@" "$programs/postgres" -D "$folder/data" -k "$folder" -c listen_addresses= -c max_connections=300 $settings
`;

function startTied(folder: string, programs: string, user: User | undefined, settings: readonly string[]) {
  const prefix =
    user === undefined ? [] : ['setpriv', `--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups'];
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const more = settings.map((setting) => `-c ${setting}`).join(' ');
  return spawn('sh', ['-c', script, 'sh', folder, programs, more, ...prefix], {
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
}

async function ready(socket: string, ended: () => string | number | null): Promise<void> {
  const until = Date.now() + startTimeoutMs;
  while (!(await answers(socket))) {
    if (ended() !== null) throw new Error(`it ended with ${ended()}`);
    if (Date.now() > until) throw new Error(`no answer within ${startTimeoutMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** A server that is still starting takes connections and refuses them in words; one that is ready asks to continue. */
async function answers(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    const words = Buffer.from('user\0svc\0database\0postgres\0\0');
    const header = Buffer.alloc(8);
    header.writeInt32BE(words.length + 8, 0);
    header.writeInt32BE(196_608, 4);
    socket.write(Buffer.concat([header, words]));
    const [answer] = (await once(socket, 'data')) as [Buffer];
    return answer.toString('latin1', 0, 1) === 'R';
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

async function findPrograms(): Promise<string> {
  const given = process.env['POSTGRES_BIN'];
  if (given !== undefined && given !== '') return given;
  const versions = await readdir(debianFolder).catch(() => []);
  const newest = versions.map(Number).sort((left, right) => right - left)[0];
  if (newest !== undefined && newest >= versionMin) return join(debianFolder, `${newest}`, 'bin');
  throw new PostgresNotFound(
    `no PostgreSQL ${versionMin} or later found. Looked for: POSTGRES_BIN (a folder of its programs); ${debianFolder}/*/bin. ` +
      'Install it with "apt install postgresql".',
  );
}

interface User {
  readonly uid: number;
  readonly gid: number;
}

/** The server refuses to run as root, so that it is given to another user there. */
async function unprivilegedUser(): Promise<User | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody']) {
    try {
      const [uid, gid] = await Promise.all(
        ['-u', '-g'].map(async (flag) => Number((await run('id', [flag, name])).stdout)),
      );
      if (uid !== undefined && gid !== undefined) return { uid, gid };
    } catch {
      // The next one.
    }
  }
  throw new PostgresNotFound(
    'PostgreSQL does not run as root, and neither the user "postgres" nor "nobody" exists',
  );
}
