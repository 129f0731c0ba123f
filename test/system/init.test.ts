import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { Ajv2020, type AnySchemaObject } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { createMysqlDatabase, mysqlMissing } from '../support/mysql.ts';
import { type Ended, follow, inFolder, runTool, toolCommandLine } from '../support/operator-tool.ts';
import { postgresMissing, postgresUrl } from '../support/postgres.ts';
import { Program, root } from './program.ts';

/** `svc init`, and a Production server that starts with nothing but its files. */

// Databases of the machine are shared with other tests.
const own = randomBytes(4).toString('hex');
const [tenant, product] = [`acme-${own}`, `shop-${own}`];
const policies = ['--tenant', tenant, '--product', product, '--handler', 'refund.pay', '--port', '0'];

class Operator {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  svc(...args: readonly string[]): Promise<Ended> {
    return runTool(args, { cwd: this.folder });
  }

  at(name: string): string {
    return join(this.folder, name);
  }

  mode(name: string): string {
    return (statSync(this.at(name)).mode & 0o777).toString(8);
  }

  async init(...args: readonly string[]): Promise<void> {
    const { code, stderr } = await this.svc('init', ...policies, ...args);
    expect([code, stderr]).toEqual([0, '']);
  }

  /** Starts the server as the last lines of `svc init` say. */
  start(): Program {
    const load = existsSync(this.at('svc.env')) ? ['--env-file=svc.env'] : [];
    const entry = join(root, 'functions/embedded.ts');
    return new Program([...load, entry, '--settings', 'svcsettings.json'], { cwd: this.folder });
  }

  call(url: string, principal: string, id: string, body: object, ...more: readonly string[]): Promise<Ended> {
    const key = existsSync(this.at('api-key.txt')) ? ['--api-key-file', 'api-key.txt'] : [];
    const credential = ['--identity-token-file', `${principal}.token`, ...key];
    return this.svc('api', id, '--server', url, ...credential, ...more, '--body', JSON.stringify(body));
  }
}

const withOperator = (use: (operator: Operator) => Promise<void>) =>
  inFolder((folder) => use(new Operator(folder)));

const said = <T>({ code, stdout, stderr }: Ended): T => {
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as T;
};

/** A first commit and a first run, which a worker executes: each with the credential that init made for it. */
async function serves(operator: Operator): Promise<void> {
  await using server = operator.start();
  const [, url = ''] = await server.says(/is ready at (\S+) \(Production\)/);
  expect(server.stdout).not.toContain('execution: off');
  const outbox = [{ topic: 'hello', key: '1', payload: {} }];
  const commit = () =>
    operator.call(
      url,
      'app',
      'commitCanonicalTransaction',
      { idempotencyKey: 'first', outbox },
      '--param',
      `tenantId=${tenant}`,
    );
  expect(said(await commit())).toMatchObject({ replayed: false });
  expect(said(await commit())).toMatchObject({ replayed: true });
  const scope = { productId: product, tenantId: tenant };
  const request = { handlerId: 'refund.pay', payload: { order: 7 }, idempotencyKey: 'first', scope };
  const run = said<{ id: string }>(await operator.call(url, 'app', 'startExecutionRun', request));
  const wish = { workerId: 'worker-1', handlerIds: ['refund.pay'] };
  const { leaseKey, leaseToken } = said<{ leaseKey: string; leaseToken: string }>(
    await operator.call(url, 'worker', 'leaseExternalExecutionRun', wish),
  );
  const result = { leaseKey, leaseToken, workerId: 'worker-1', result: { result: { paid: true } } };
  expect(said(await operator.call(url, 'worker', 'completeExternalExecutionLease', result))).toMatchObject({
    id: run.id,
    status: 'succeeded',
  });
  // A credential gives no right beyond its purpose.
  const foreign = await operator.call(url, 'worker', 'startExecutionRun', request);
  expect([foreign.code, foreign.stderr]).toEqual([5, expect.stringContaining('permission_denied')]);
  server.signal('SIGTERM');
  expect(await server.exit).toEqual({ code: 0, signal: null });
}

test('the settings name their schema, which lies beside them and accepts them', () =>
  withOperator(async (operator) => {
    await operator.init();
    const file = (name: string) => JSON.parse(readFileSync(operator.at(name), 'utf8')) as AnySchemaObject;
    const settings = file('svcsettings.json');
    expect(settings['$schema']).toBe('./svcsettings.schema.json');
    const schema = readFileSync(operator.at('svcsettings.schema.json'), 'utf8');
    expect(schema).toBe(readFileSync(join(root, 'docs/reference/svcsettings.schema.json'), 'utf8'));
    const validate = new Ajv2020({ strict: false }).compile(file('svcsettings.schema.json'));
    expect(validate(settings), JSON.stringify(validate.errors)).toBe(true);
    expect(validate({ ...settings, Enviroment: 'Production' })).toBe(false);
  }));

describe('a server with the files of svc init serves a first commit and a first run', () => {
  test('on SQLite', () =>
    withOperator(async (operator) => {
      await operator.init();
      expect(await operator.svc('config', 'check', '--strict')).toMatchObject({ code: 0, stderr: '' });
      await serves(operator);
    }));

  test('with an API key beside the token', () =>
    withOperator(async (operator) => {
      await operator.init('--api-key');
      await serves(operator);
    }));

  const databases = [
    [
      'postgresql',
      postgresMissing,
      () => Promise.resolve({ url: postgresUrl(), drop: () => Promise.resolve() }),
    ],
    [
      'mysql',
      mysqlMissing,
      async () => {
        const made = await createMysqlDatabase();
        return { url: made.connectionString, drop: () => made.drop() };
      },
    ],
  ] as const;
  for (const [provider, missing, database] of databases) {
    const skipped = missing === undefined ? '' : ` (skipped: ${missing})`;
    test.skipIf(missing !== undefined)(`on ${provider}${skipped}`, async () => {
      const { url, drop } = await database();
      await withOperator(async (operator) => {
        writeFileSync(operator.at('db.url'), `${url}\n`);
        await operator.init('--database', provider, '--connection-string-file', 'db.url');
        expect(readFileSync(operator.at('svcsettings.json'), 'utf8')).not.toContain(url);
        expect(operator.mode('svc.env')).toBe('600');
        const checked = await operator.svc('config', 'check', '--env-file', 'svc.env', '--strict');
        expect(checked).toMatchObject({ code: 0, stderr: '' });
        await serves(operator);
      });
      await drop();
    });
  }
});

describe('svc init', () => {
  test('keeps secrets in files of their owner, and out of the settings', () =>
    withOperator(async (operator) => {
      await operator.init('--api-key');
      for (const name of ['identity-key.pem', 'app.token', 'worker.token', 'operator.token', 'api-key.txt']) {
        expect([name, operator.mode(name)]).toEqual([name, '600']);
      }
      const settings = readFileSync(operator.at('svcsettings.json'), 'utf8');
      const key = readFileSync(operator.at('api-key.txt'), 'utf8').trim();
      expect(settings + readFileSync(operator.at('api-keys.json'), 'utf8')).not.toContain(key);
    }));

  test('overwrites nothing without --force, and with it keeps the signing key', () =>
    withOperator(async (operator) => {
      await operator.init();
      const key = readFileSync(operator.at('identity-key.pem'), 'utf8');
      writeFileSync(operator.at('svcsettings.json'), 'mine');
      const again = await operator.svc('init', ...policies);
      expect([again.code, again.stdout]).toEqual([4, '']);
      expect(again.stderr).toContain('already holds svcsettings.json');
      expect(readFileSync(operator.at('svcsettings.json'), 'utf8')).toBe('mine');
      await operator.init('--force');
      expect(readFileSync(operator.at('svcsettings.json'), 'utf8')).not.toBe('mine');
      expect(readFileSync(operator.at('identity-key.pem'), 'utf8')).toBe(key);
    }));

  test('writes nothing where the answers break a rule, or are missing', () =>
    withOperator(async (operator) => {
      const refused = await operator.svc('init', '--tenant', 'a/b', '--product', 'shop');
      expect([refused.code, refused.stderr]).toEqual([
        2,
        expect.stringContaining('not a single path segment'),
      ]);
      const twins = await operator.svc(
        'init',
        ...policies,
        '--principal',
        'a b',
        '--worker-principal',
        'a/b',
      );
      expect([twins.code, twins.stderr]).toEqual([
        2,
        expect.stringContaining('The principals "a b" and "a/b" need the same token file, a_b.token'),
      ]);
      const cased = await operator.svc(
        'init',
        ...policies,
        '--principal',
        'App',
        '--worker-principal',
        'app',
      );
      expect([cased.code, cased.stderr]).toEqual([2, expect.stringContaining('the same token file')]);
      writeFileSync(operator.at('db.url'), 'mysql://u:zq8-not-shown@h/d\n');
      const database = ['--database', 'postgresql', '--connection-string-file', 'db.url'];
      const foreign = await operator.svc('init', ...policies, ...database);
      expect([foreign.code, foreign.stderr]).toEqual([
        2,
        expect.stringContaining('is an address of mysql, but the provider is postgresql'),
      ]);
      expect(foreign.stderr).not.toContain('zq8');
      const missing = await operator.svc('init', '--yes');
      expect([missing.code, missing.stderr.trim()]).toEqual([2, 'Missing: --tenant, --product']);
      expect(readdirSync(operator.folder)).toEqual(['db.url']);
    }));

  test('names files by their absolute paths, so that the service starts in any folder', () =>
    withOperator(async (operator) => {
      await operator.init('--api-key', '--out', 'conf');
      const path = operator.at('conf/svcsettings.json');
      const settings = JSON.parse(readFileSync(path, 'utf8')) as {
        Server: { ApiKeyFile: string; Oidc: { KeySetFile: string } };
      };
      const { ApiKeyFile, Oidc } = settings.Server;
      expect(
        [ApiKeyFile, Oidc.KeySetFile].map((file) => relative(realpathSync(operator.folder), file)),
      ).toEqual(['conf/api-keys.json', 'conf/identity-keys.json']);
      await inFolder(async (elsewhere) => {
        const words = [join(root, 'functions/embedded.ts'), '--settings', path];
        await using server = new Program(words, { cwd: elsewhere });
        await server.says(/is ready at (\S+) \(Production\)/);
      });
    }));
});

/** `script` of util-linux gives a command a terminal. */
const noScript = spawnSync('script', ['--version']).status !== 0;
const whyNoScript = noScript ? ' (skipped: there is no script of util-linux)' : '';
test.skipIf(noScript)(`on a terminal it asks for what the options leave open${whyNoScript}`, () =>
  withOperator(async (operator) => {
    const line = toolCommandLine(['init', '--handler', 'refund.pay']);
    const child = spawn('script', ['-qefc', line, '/dev/null'], { cwd: operator.folder });
    const { says, ended } = follow(child);
    const answers = [
      ['Database', ''],
      ['Tenants', tenant],
      ['Product', product],
      ['Issuer', 'own'],
      ['Audience', 'https://svc.shop.example'],
    ] as const;
    for (const [question, answer] of answers) {
      await says(question);
      child.stdin.write(`${answer}\r`);
    }
    expect(await ended).toMatchObject({ code: 0, stdout: expect.stringContaining('svcsettings.json') });
    const settings: unknown = JSON.parse(readFileSync(operator.at('svcsettings.json'), 'utf8'));
    expect(settings).toMatchObject({
      Server: { CanonicalAccess: { AllowedAudiences: ['https://svc.shop.example'] } },
      CanonicalStore: { Provider: 'sqlite' },
      ExecutionRuntime: { ProductPolicies: [{ ProductId: product, AllowedTenantIds: [tenant] }] },
    });
    expect(await operator.svc('config', 'check', '--strict')).toMatchObject({ code: 0, stderr: '' });
  }),
);

test.skipIf(noScript)(`Ctrl+C on a terminal writes nothing${whyNoScript}`, () =>
  withOperator(async (operator) => {
    const child = spawn('script', ['-qefc', toolCommandLine(['init']), '/dev/null'], {
      cwd: operator.folder,
    });
    const { says, ended } = follow(child);
    await says('Database');
    child.stdin.write('\u0003');
    expect(await ended).toMatchObject({ code: 1, stdout: expect.stringContaining('nothing was written') });
    expect(existsSync(operator.at('svcsettings.json'))).toBe(false);
  }),
);

test('svc identity-token makes a token that the service accepts', () =>
  withOperator(async (operator) => {
    await operator.init();
    const made = await operator.svc('identity-token', '--principal', 'app', '--out', 'app.token');
    expect(made).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(operator.mode('app.token')).toBe('600');
    await serves(operator);
    const unknown = await operator.svc('identity-token', '--principal', 'stranger');
    expect([unknown.code, unknown.stderr.trim()]).toEqual([
      3,
      'No identity policy names the principal stranger',
    ]);
  }));

test('config check warns of a secret in a file that others can read', () =>
  withOperator(async (operator) => {
    const secret = 'postgresql://u:zq8-not-shown@h/d';
    writeFileSync(operator.at('svc.env'), `CanonicalStore__ConnectionString='${secret}'\n`);
    chmodSync(operator.at('svc.env'), 0o644);
    const check = ['config', 'check', '--CanonicalStore:Provider=postgresql', '--env-file', 'svc.env'];
    const { code, stderr } = await operator.svc(...check);
    expect([code, stderr]).toEqual([0, expect.stringContaining('-> Restrict the file: chmod 600 svc.env')]);
    expect(stderr).not.toContain('zq8');
    chmodSync(operator.at('svc.env'), 0o600);
    expect(await operator.svc(...check)).toMatchObject({ code: 0, stderr: '' });
  }));

test('a Production server without execution policies says at its start that runs are off', () =>
  withOperator(async (operator) => {
    await operator.init();
    const settings = JSON.parse(readFileSync(operator.at('svcsettings.json'), 'utf8')) as {
      Server: { ExecutionAccess?: object };
    };
    delete settings.Server.ExecutionAccess;
    writeFileSync(operator.at('svcsettings.json'), JSON.stringify(settings));
    await using server = operator.start();
    await server.says(
      /^execution: off, no policies in Server:ExecutionAccess:IdentityPolicies \(svc init writes them\)$/m,
    );
    const { code, stdout } = await operator.svc('config', 'check', '--json', '--strict');
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: true,
      environment: 'Production',
      findings: [{ severity: 'warning', key: 'Server:ExecutionAccess:IdentityPolicies' }],
      off: [{ group: 'execution' }, { group: 'docs' }],
    });
  }));
