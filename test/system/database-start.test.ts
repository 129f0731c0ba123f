import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { mysqlMissing, mysqlServer, mysqlUrl } from '../support/mysql.ts';
import { postgresMissing, postgresUrl } from '../support/postgres.ts';
import { Program, root } from './program.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-database-start-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const secret = 'zq8-not-to-be-shown';

function start(...settings: readonly string[]): Program {
  const args = [join(root, 'functions/embedded.ts'), ...settings.map((each) => `--${each}`)];
  return new Program(args, { cwd: folder, env: { PORT: '0', SVC_DATA_DIR: join(folder, 'data') } });
}

function onDatabase(provider: string, connectionString: string): Program {
  return start(
    `CanonicalStore:Provider=${provider}`,
    `CanonicalStore:ConnectionString=${connectionString}`,
    'Server:LogLevel=error',
  );
}

/** The URL with some of its parts replaced. */
function urlWith(url: string, change: (changed: URL) => void): string {
  const changed = new URL(url);
  change(changed);
  return changed.href;
}

async function expectRefusal(program: Program, ...parts: readonly string[]): Promise<void> {
  await using ended = program;
  expect(await ended.exit).toMatchObject({ code: 1 });
  expect(ended.stdout).toBe('');
  const lines = ended.stderr.trim().split('\n');
  expect(lines, ended.stderr).toHaveLength(1);
  for (const part of parts) expect(lines[0]).toContain(part);
  expect(ended.stderr).not.toContain(secret);
}

async function expectDegraded(program: Program, ...parts: readonly string[]): Promise<void> {
  await using running = program;
  const [line = '', url = ''] = await running.says(
    /^svc \S+ is ready at (\S+) \(Development\), degraded: .*$/m,
  );
  for (const part of parts) expect(line).toContain(part);
  expect(running.stdout).not.toContain(secret);
  const readiness = await (await fetch(`${url}/readiness`)).json();
  // The canonical store, records, traces and, where no folder is named for them, the bytes of objects are in one database.
  const blocker: unknown = expect.stringContaining('does not answer');
  const objects = 'The store of objects does not write, read and delete.';
  expect(readiness).toMatchObject({ ready: false, blockers: [blocker, blocker, blocker, objects] });
  running.signal('SIGTERM');
  expect(await running.exit).toMatchObject({ code: 0 });
}

describe('a database that the settings name wrongly ends the start, and the first line says why', () => {
  const provided = [
    ['postgresql', postgresMissing, postgresUrl, 'does not exist'],
    ['mysql', mysqlMissing, () => mysqlUrl(mysqlServer(), 'any'), 'ER_BAD_DB_ERROR'],
  ] as const;

  for (const [provider, missing, urlOf, reason] of provided) {
    test.skipIf(missing !== undefined)(`${provider}: no such database`, async () => {
      const url = urlWith(urlOf(), (changed) => {
        changed.pathname = '/no_such_database';
      });
      await expectRefusal(onDatabase(provider, url), provider, 'no_such_database', reason);
    });
  }

  test.each([
    ['postgresql', 'postgresql'],
    ['mysql', 'mysql'],
  ])('%s: no such host', async (provider, scheme) => {
    const url = `${scheme}://user:${secret}@no-such-host.invalid:1234/orders`;
    // Without a name server, a name may as well be known later.
    const program = onDatabase(provider, url);
    const [said] = await program.says(/no-such-host\.invalid:1234\/orders\).*$/m);
    expect(said).toMatch(/ENOTFOUND|EAI_AGAIN/);
    expect(`${program.stdout}${program.stderr}`).not.toContain(secret);
    program.signal('SIGTERM');
    await program.exit;
  });

  test('postgresql: text that is no connection string', async () => {
    await expectRefusal(onDatabase('postgresql', `no-url-${secret}`), 'postgresql');
  });
});

describe('a database that is away leaves the server degraded, and the ready line says why', () => {
  test.each([
    ['postgresql', 'postgresql'],
    ['mysql', 'mysql'],
  ])('%s', async (provider, scheme) => {
    const url = `${scheme}://user:${secret}@127.0.0.1:1/orders`;
    await expectDegraded(onDatabase(provider, url), provider, '127.0.0.1:1/orders', 'ECONNREFUSED');
  });

  test('firestore', async () => {
    const program = start(
      'CanonicalStore:Provider=firestore',
      'Firestore:EmulatorHost=127.0.0.1:1',
      'Firestore:ProjectId=demo-away',
      'Server:LogLevel=error',
    );
    await expectDegraded(program, 'firestore demo-away', '127.0.0.1:1');
  });
});
