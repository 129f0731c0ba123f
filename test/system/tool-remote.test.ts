import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  constants,
  lstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { release } from '../../functions/release.ts';
import { HttpTenant } from '../support/http.ts';
import { type Ended, runTool } from '../support/operator-tool.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';

/** The tool against a server that is open, as `npm start` leaves it. */

const folder = mkdtempSync(join(tmpdir(), 'svc-tool-remote-'));
let server: ServerProcess;
let at: { SVC_SERVER: string };
beforeAll(async () => {
  server = await startServer({ SVC_DATA_DIR: join(folder, 'data') });
  at = { SVC_SERVER: server.address };
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

let tenants = 0;
const freshTenant = () => `tenant-${tenants++}`;
const tenantParam = (tenantId: string) => ['--param', `tenantId=${tenantId}`];
const api = (id: string, ...args: string[]): Promise<Ended> => runTool(['api', id, ...args], { env: at });

const document = (tenantId: string, id: string, data: object) => ({
  document: { tenantId, documentType: 'claim', id, schemaVersion: '1', data, indexes: { status: 'open' } },
});

function commit(tenantId: string, key: string, id = '1', data: object = { amount: 1 }): Promise<Ended> {
  const body = JSON.stringify({
    mutations: [document(tenantId, id, data)],
    outbox: [{ topic: 'a', key: 'k', payload: {} }],
  });
  return runTool(
    ['api', 'commitCanonicalTransaction', ...tenantParam(tenantId), '--idempotency-key', key, '--body', '@-'],
    { env: at, input: body },
  );
}

describe('svc api', () => {
  test('lists the operations', async () => {
    for (const args of [['api'], ['api', 'list']]) {
      const { code, stdout, stderr } = await runTool(args);
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toMatch(
        /^Canonical store\n(.*\n)*? +commitCanonicalTransaction +write +Commit a transaction$/m,
      );
    }
    const { stdout } = await runTool(['api', 'list', '--output', 'json']);
    expect(JSON.parse(stdout)).toContainEqual(
      expect.objectContaining({ operationId: 'getHealth', method: 'GET', path: '/health', access: null }),
    );
  });

  test('goes all the way: commit, read, query, lease, acknowledge', async () => {
    const tenantId = freshTenant();
    const committed = await commit(tenantId, 'first', 'a b', { amount: 125_000 });
    expect([committed.code, committed.stderr]).toEqual([0, '']);
    expect(JSON.parse(committed.stdout)).toMatchObject({
      tenantId,
      idempotencyKey: 'first',
      replayed: false,
    });
    expect(JSON.parse((await commit(tenantId, 'first', 'a b', { amount: 125_000 })).stdout)).toMatchObject({
      replayed: true,
    });

    const parameters = [...tenantParam(tenantId), '--param', 'documentType=claim', '--param', 'id=a b'];
    const read = await api('getCanonicalDocument', ...parameters);
    expect(JSON.parse(read.stdout)).toMatchObject({ id: 'a b', data: { amount: 125_000 } });

    const found = await api('queryCanonicalDocuments', ...tenantParam(tenantId), '--output', 'table');
    expect(found.stdout).toMatch(/^TENANT ID +DOCUMENT TYPE +ID /);
    expect(found.stdout).toMatch(/claim +a b +1 +\{"amount":125000\}/);

    const lease = ['--body', '{"consumerId":"me"}'];
    const leased = await api('leaseCanonicalOutbox', ...tenantParam(tenantId), ...lease);
    const [{ event, leaseToken }] = JSON.parse(leased.stdout) as [
      { event: { id: string }; leaseToken: string },
    ];
    const eventParam = ['--param', `eventId=${event.id}`];
    const body = ['--body', JSON.stringify({ leaseToken })];
    const acknowledged = await api(
      'acknowledgeCanonicalOutbox',
      ...tenantParam(tenantId),
      ...eventParam,
      ...body,
    );
    expect(acknowledged).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  test('passes an answer on byte for byte', async () => {
    const { stdout } = await api('getOpenApiContract');
    expect(stdout).toBe(`${await (await fetch(`${server.address}/openapi/svc.json`)).text()}\n`);
    const file = join(folder, 'schemas.json');
    const kept = await api('getPublicSchemaContract', '--out', file);
    expect(kept).toEqual({ code: 0, stdout: '', stderr: '' });
    const bundle = await fetch(`${server.address}/contracts/schemas/svc-public.schema.json`);
    expect(readFileSync(file, 'utf8')).toBe(await bundle.text());
    expect(statSync(file).mode & 0o077).toBe(0);
  });

  test('exits by the status of the answer, and prints the problem', async () => {
    const tenantId = freshTenant();
    await commit(tenantId, 'first');
    const missing = [...tenantParam(tenantId), '--param', 'documentType=claim', '--param', 'id=none'];
    const notFound = await api('getCanonicalDocument', ...missing);
    expect([notFound.code, notFound.stdout]).toEqual([3, '']);
    expect(notFound.stderr).toMatch(
      /^404 Not found \[not_found\]\n {2}There is no such.*\n {2}correlation id: [0-9a-f]{32}\n$/,
    );
    const conflict = await commit(tenantId, 'first', '2');
    expect([conflict.code, conflict.stderr]).toEqual([
      4,
      expect.stringMatching(/^409 .*\[idempotency_conflict\]/),
    ]);
    const stale = { mutations: [{ ...document(tenantId, '1', {}), precondition: { expectedRevision: 9 } }] };
    const body = ['--idempotency-key', 'second', '--body', JSON.stringify(stale)];
    const failed = await api('commitCanonicalTransaction', ...tenantParam(tenantId), ...body);
    expect([failed.code, failed.stderr]).toEqual([
      4,
      expect.stringMatching(/^412 .*\[precondition_failed\]/),
    ]);
    const wrong = await api(
      'queryCanonicalDocuments',
      ...tenantParam(tenantId),
      '--body',
      '{"limit":"x","y":1}',
    );
    expect(wrong.code).toBe(1);
    expect(wrong.stderr).toMatch(/^400 Validation failed \[validation_failed\]\n.*\n {2}at \/(y|limit): /);
  });

  test('reports the faults of a call before it sends a request', async () => {
    const nowhere = { env: { SVC_SERVER: 'http://127.0.0.1:1' } };
    const wrong: [string[], RegExp][] = [
      [['nothing', '--param', 'a=b'], /^There is no operation nothing: svc api list/],
      [['commitCanonical'], /did you mean commitCanonicalTransaction\?/],
      [
        ['getCanonicalDocument', '--param', 'tenant=a', '--param', 'id=.'],
        /no parameter tenant: .*id cannot be \.; .*tenantId is missing/,
      ],
      [['getHealth', '--body', '{}'], /unknown option '--body'/],
      [
        ['getHealth', '--api-key-file', '-', '--identity-token-file', '-'],
        /Standard input \(-\) can be read once/,
      ],
      [['getHealth', '--timeout', 'soon'], /--timeout/],
    ];
    for (const [args, expected] of wrong) {
      const { code, stdout, stderr } = await runTool(['api', ...args], { ...nowhere, input: 'key' });
      expect([code, stdout, stderr]).toEqual([2, '', expect.stringMatching(expected)]);
    }
    const file = ['applyCanonicalMigrations', '--body', `@${join(folder, 'none.json')}`];
    expect(await runTool(['api', ...file], nowhere)).toMatchObject({ code: 3 });
    const large = join(folder, 'large.json');
    writeFileSync(large, ' '.repeat(70_000));
    const tooLarge = await api('queryCanonicalDocuments', ...tenantParam('a'), '--body', `@${large}`);
    expect([tooLarge.code, tooLarge.stderr]).toEqual([
      1,
      expect.stringContaining('larger than the 65,536 bytes'),
    ]);
  });

  test('moves a tenant of many megabytes through files', async () => {
    const [from, to] = [freshTenant(), freshTenant()];
    const text = 'x'.repeat(800_000);
    const tenant = new HttpTenant(server.address, from);
    for (let n = 0; n < 12; n += 1) {
      const request = { idempotencyKey: `n${n}`, mutations: [document(from, `${n}`, { text })] };
      expect((await tenant.post('/transactions', request)).status).toBe(200);
    }
    const file = join(folder, 'export.json');
    const exported = await api('exportCanonicalTenant', ...tenantParam(from), '--out', file);
    expect(exported).toEqual({ code: 0, stdout: '', stderr: '' });
    const bytes = readFileSync(file, 'utf8');
    const asked = await fetch(`${server.address}/canonical/tenants/${from}/export`);
    const timeless = (snapshot: string) => snapshot.replace(/"exportedAtUtc":"[^"]*"/, '');
    expect(timeless(bytes) === timeless(await asked.text())).toBe(true);
    expect(bytes.length).toBeGreaterThan(9_000_000);
    const body = join(folder, 'restore.json');
    writeFileSync(body, `{"snapshot":${bytes}}`);
    const restore = ['restoreCanonicalTenant', '--body', `@${body}`];
    expect(await api(...(restore as [string]), ...tenantParam(from))).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    });
    // A snapshot of another tenant is refused; the body does not end the connection.
    const refused = await api(...(restore as [string]), ...tenantParam(to));
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(/^400 /)]);
  });

  test('leaves no half file, and writes none for an answer without a file', async () => {
    const out = join(folder, 'kept.json');
    writeFileSync(out, 'before');
    const away = { env: { SVC_SERVER: 'http://127.0.0.1:1' } };
    expect((await runTool(['api', 'getHealth', '--out', out], away)).code).toBe(6);
    const refused = await api('exportCanonicalTenant', '--param', 'tenantId=a%b', '--out', out);
    expect(refused.code).toBe(1);
    expect(readFileSync(out, 'utf8')).toBe('before');
    const cut = createServer((socket) => {
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhalf'));
    }).listen(0, '127.0.0.1');
    await once(cut, 'listening');
    const address = `http://127.0.0.1:${(cut.address() as AddressInfo).port}`;
    const half = await runTool(['api', 'getHealth', '--out', out], { env: { SVC_SERVER: address } });
    cut.close();
    expect([half.code, half.stderr]).toEqual([6, expect.stringContaining('broke the connection off')]);
    expect(readFileSync(out, 'utf8')).toBe('before');
    expect((await api('getHealth', '--out', out)).code).toBe(0);
    expect(JSON.parse(readFileSync(out, 'utf8'))).toMatchObject({ service: 'svc' });
    expect(readdirSync(folder).filter((name) => name.endsWith('.part'))).toEqual([]);

    // Not /dev/null, which a tool that is wrong would replace for the whole machine.
    const pipe = join(folder, 'pipe');
    expect(spawnSync('mkfifo', [pipe]).status).toBe(0);
    const reader = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
    expect((await api('getHealth', '--out', pipe)).code).toBe(0);
    expect(statSync(pipe).isFIFO()).toBe(true);
    const received = Buffer.alloc(4096);
    expect(JSON.parse(received.toString('utf8', 0, readSync(reader, received)))).toMatchObject({
      service: 'svc',
    });
    closeSync(reader);
    const link = join(folder, 'link.json');
    symlinkSync(out, link);
    expect((await api('getReadiness', '--out', link)).code).toBe(0);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(JSON.parse(readFileSync(out, 'utf8'))).toMatchObject({ ready: true });
  });

  test('shows with --verbose the requests and answers, on standard error only', async () => {
    const { code, stdout, stderr } = await runTool(['--verbose', 'api', 'getHealth'], { env: at });
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { service: 'svc' }]);
    expect(stderr).toMatch(/^> GET \/health HTTP\/1\.1\n> Host: 127/);
    expect(stderr).toMatch(/^< HTTP\/1\.1 200 OK$/m);
    expect(stderr).toMatch(/^< X-Correlation-ID: [0-9a-f]{32}$/m);
  });
});

describe('svc canonical-preflight', () => {
  test('needs a server, and reports a ready one', async () => {
    expect(await runTool(['canonical-preflight'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--server'),
    });
    const { code, stdout, stderr } = await runTool(['canonical-preflight', '--server', server.address]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^provider +sqlite$/m);
    expect(stdout).toMatch(/^required operations +read, write, dispatch, export, restore, admin$/m);
    expect(stdout).not.toContain('CHECK');
  });

  test('proves it by writing where that is asked for', async () => {
    const probe = await runTool(['canonical-preflight', '--probe'], { env: at });
    expect([probe.code, probe.stderr]).toEqual([0, '']);
    expect(probe.stdout).toMatch(/^canonical\.tenant_isolation +passed +/m);
    const json = await runTool(['canonical-preflight', '--probe', '--output', 'json'], { env: at });
    expect(JSON.parse(json.stdout)).toMatchObject({ dataPlaneProbe: { ready: true, checks: [{}, {}, {}] } });
  });

  test('differs from a service that cannot be reached', async () => {
    const away = await runTool(['canonical-preflight', '--server', 'http://127.0.0.1:1']);
    expect(away).toEqual({
      code: 6,
      stdout: '',
      stderr: 'http://127.0.0.1:1 refuses connections: is the service running there?\n',
    });
  });
});

describe('svc doctor', () => {
  const port = () => new URL(server.address).port;

  test('checks machine, settings and a server, and sends no credential', async () => {
    const env = { ...at, SVC_API_KEY: 'hush-hush', SVC_DATA_DIR: join(folder, 'data') };
    const { code, stdout, stderr } = await runTool(
      ['doctor', `--port=${port()}`, '--output', 'json', '--verbose'],
      {
        env,
      },
    );
    expect([code, stderr]).toEqual([0, expect.not.stringMatching(/Api-Key: |hush/)]);
    const { ok, checks } = JSON.parse(stdout) as {
      ok: boolean;
      checks: { id: string; status: string; message: string }[];
    };
    expect(ok).toBe(true);
    const messages = Object.fromEntries(checks.map(({ id, message }) => [id, message]));
    expect(Object.keys(messages)).toEqual(
      'node settings data-folder disk-space database port emulator server server-version server-clock server-readiness'.split(
        ' ',
      ),
    );
    expect(messages).toMatchObject({
      port: `svc ${release.version} is running on 127.0.0.1:${port()}.`,
      database: 'The provider sqlite answers.',
      settings: expect.stringContaining('A run has 1 attempt unless its handler (maxAttempts)'),
      server: `${server.address} answers: svc ${release.version}.`,
    });
    expect(checks.find(({ id }) => id === 'server-readiness')).toMatchObject({ status: 'warning' });
  });

  test('reports faults of the settings with their remedy, and no consequences of them', async () => {
    const { code, stdout } = await runTool(['doctor', '--port=x', '--Sever:Port=1'], { cwd: folder });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^failed +settings +The configuration has 2 faults/m);
    expect(stdout).toMatch(/Sever:Port \(command line\): is not known; did you mean Server:Port\?/);
    expect(stdout).toMatch(/^ +-> Mend them/m);
    expect(stdout).not.toContain('database');
  });

  test('makes no database, and says that a server does not answer', async () => {
    const data = join(folder, 'unborn');
    const args = ['doctor', `--data-dir=${data}`, '--port=0', '--server', 'http://127.0.0.1:1'];
    const { code, stdout } = await runTool(args, { cwd: folder });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^ok +database .* is not there yet; the first start makes it\.$/m);
    expect(stdout).toMatch(/^failed +server +http:\/\/127\.0\.0\.1:1 refuses connections/m);
    expect(readdirSync(folder)).not.toContain('unborn');
  });
});

test('svc completion knows every command of the tool', async () => {
  const help = await runTool(['--help']);
  const names = [...help.stdout.matchAll(/^ {2}([a-z][a-z-]+) /gm)].map(([, name = '']) => name);
  expect(names).toEqual(
    expect.arrayContaining(['api', 'canonical-preflight', 'doctor', 'completion', 'config']),
  );
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { code, stdout, stderr } = await runTool(['completion', shell]);
    expect([code, stderr]).toEqual([0, '']);
    for (const name of names) expect(stdout, `${name} in ${shell}`).toMatch(new RegExp(`\\b${name}\\b`));
  }
  expect(await runTool(['completion', 'tcsh'])).toMatchObject({ code: 2 });
});
