import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createPlain } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { operations } from '../../contracts/generated/operations.ts';
import { loadValidators } from '../../contracts/generated/validators/load.ts';
import { type OidcIssuer, startOidcIssuer } from '../../emulator/oidc-issuer.ts';
import { machine } from '../../functions/compose/machine.ts';
import { flaws } from '../../functions/groups/canonical/preflight/preflight-flaws.fixture.ts';
import { createChain } from '../../functions/http/chain.ts';
import { serveNode } from '../../functions/http/host-node.ts';
import { hashApiKey } from '../../functions/identity/api-keys.ts';
import { anonymous } from '../../functions/identity/authenticator.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { handlersOver, unconfigured } from '../support/canonical.ts';
import { grantSettings, serviceAudience } from '../support/issued-service.ts';
import { type Ended, runTool } from '../support/operator-tool.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';

/** The tool against a server that requires an API key and an identity token. */

const folder = mkdtempSync(join(tmpdir(), 'svc-tool-credentials-'));
const key = 'a-key-that-nobody-may-see';
const admin = 'admin@example.com';
const reader = 'reader@example.com';
let issuer: OidcIssuer;
let server: ServerProcess;
let token: string;
const keyFile = join(folder, 'key');
const tokenFile = join(folder, 'token');

beforeAll(async () => {
  issuer = await startOidcIssuer();
  const settings = {
    Environment: 'Production',
    'Server:ApiKeyHashes:0': hashApiKey(key),
    'Server:Oidc:Issuers:0': issuer.issuer,
    'Server:Oidc:KeySetUrl': issuer.keySetUrl,
    'Server:CanonicalAccess:AllowedAudiences:0': serviceAudience,
    ...grantSettings([
      { principal: admin, tenants: ['*'], operations: ['admin', 'read', 'write'] },
      { principal: reader, tenants: ['acme'], operations: ['read'] },
    ]),
  };
  const flags = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  server = await startServer({ SVC_DATA_DIR: join(folder, 'data') }, flags);
  token = await issuer.mint({ email: admin, audience: serviceAudience });
  writeFileSync(keyFile, `${key}\n`);
  writeFileSync(tokenFile, `${token}\n`);
});
afterAll(async () => {
  await server.stop();
  await issuer.stop();
  rmSync(folder, { recursive: true, force: true });
});

const look = (args: readonly string[], env: Record<string, string> = {}, input = ''): Promise<Ended> =>
  runTool(['canonical-preflight', '--server', server.address, ...args], { env, input });
const expectNoSecret = ({ stdout, stderr }: Ended) => {
  for (const secret of [key, token, ...token.split('.')]) expect(stdout + stderr).not.toContain(secret);
};

describe('credentials', () => {
  test('are asked for, and a tool that has none says how to give them', async () => {
    const { code, stdout, stderr } = await look([]);
    expect([code, stdout]).toEqual([5, '']);
    expect(stderr).toMatch(/^401 .*\[unauthenticated\]\n/);
    expect(stderr).toMatch(/--api-key-file, --identity-token-file, SVC_API_KEY, SVC_IDENTITY_TOKEN/);
  });

  test('are accepted from files, the environment and standard input', async () => {
    const ways: [string[], Record<string, string>, string][] = [
      [['--api-key-file', keyFile, '--identity-token-file', tokenFile], {}, ''],
      [[], { SVC_API_KEY: key, SVC_IDENTITY_TOKEN: token }, ''],
      [['--api-key-file', '-'], { SVC_IDENTITY_TOKEN: token }, `${key}\n`],
      [['--identity-token-file', '-', '--api-key-file', keyFile], { SVC_API_KEY: 'another' }, token],
    ];
    for (const [args, env, input] of ways) {
      const end = await look([...args, '--verbose'], env, input);
      expect([end.code, end.stdout]).toEqual([0, expect.stringMatching(/^tenant policies enforced +true$/m)]);
      expect(end.stderr).toMatch(/^> X-Svc-Api-Key: \[redacted\]$/m);
      expect(end.stderr).toMatch(/^> X-Serverless-Authorization: \[redacted\]$/m);
      expectNoSecret(end);
    }
  });

  test('work on the command line, with a warning of each', async () => {
    const end = await look(['--api-key', key, '--identity-token', token, '--verbose']);
    expect(end.code).toBe(0);
    expect(end.stderr).toMatch(
      /can see --api-key in the list of processes; use --api-key-file or SVC_API_KEY/,
    );
    expect(end.stderr).toMatch(/can see --identity-token in the list .* SVC_IDENTITY_TOKEN/);
    expectNoSecret(end);
  });

  test('that are wrong or not enough end it with 5', async () => {
    const wrong = await look([], { SVC_API_KEY: 'another', SVC_IDENTITY_TOKEN: token });
    expect([wrong.code, wrong.stderr]).toEqual([5, expect.stringMatching(/^401 /)]);
    const alone = await look([], { SVC_API_KEY: key });
    expect([alone.code, alone.stderr]).toEqual([5, expect.stringMatching(/^40[13] /)]);
    const forged = await look([], { SVC_API_KEY: key, SVC_IDENTITY_TOKEN: `${token.slice(0, -4)}AAAA` });
    expect([forged.code, forged.stderr]).toEqual([5, expect.stringMatching(/^401 /)]);
    const readerToken = await issuer.mint({ email: reader, audience: serviceAudience });
    const env = { SVC_SERVER: server.address, SVC_API_KEY: key, SVC_IDENTITY_TOKEN: readerToken };
    const query = (tenantId: string) =>
      runTool(['api', 'queryCanonicalDocuments', '--param', `tenantId=${tenantId}`], { env });
    expect((await query('acme')).code).toBe(0);
    const refused = await query('other');
    expect([refused.code, refused.stderr]).toEqual([
      5,
      expect.stringMatching(/^403 .*\[permission_denied\]/),
    ]);
    for (const end of [wrong, alone, forged, refused]) expectNoSecret(end);
  });

  test('go in the header that the service reads', async () => {
    const env = { SVC_API_KEY: key, SVC_IDENTITY_TOKEN: token };
    const wrong = await look(['--api-key-header', 'X-Other'], env);
    expect(wrong.code).toBe(5);
    const named = await look([], { ...env, SVC_API_KEY_HEADER: 'x-svc-api-key' });
    expect(named.code).toBe(0);
  });

  test('are not shown in failures either', async () => {
    const env = { SVC_API_KEY: key, SVC_IDENTITY_TOKEN: token };
    const away = await runTool(['--verbose', 'api', 'getHealth', '--server', 'http://127.0.0.1:1'], { env });
    expect(away.code).toBe(6);
    const odd = await runTool(['api', 'getHealth', '--api-key', `${key} ${key}`, '--server', server.address]);
    expect([odd.code, odd.stderr]).toEqual([2, expect.stringContaining('The API key')]);
    for (const end of [away, odd]) expectNoSecret(end);
  });
});

describe('on the way', () => {
  test('credentials are not sent in the clear to another machine, unless that is asked for', async () => {
    for (const args of [
      ['--api-key-file', keyFile],
      ['--identity-token-file', tokenFile],
    ]) {
      const end = await runTool(['api', 'getHealth', '--server', 'http://192.0.2.1', ...args]);
      expect([end.code, end.stderr]).toEqual([
        2,
        expect.stringMatching(/plain HTTP to another machine.*--insecure/),
      ]);
      expectNoSecret(end);
    }
    const insecure = ['--insecure', '--timeout', '0.2', '--api-key-file', keyFile];
    const tried = await runTool(['api', 'getHealth', '--server', 'http://192.0.2.1', ...insecure]);
    expect(tried.code).toBe(6);
  });

  test('they do not follow a redirect, and are removed from the answers of the other side', async () => {
    const seen: string[] = [];
    const host = createPlain((request, response) => {
      seen.push(request.url ?? '');
      const echo = String(request.headers['x-svc-api-key']);
      const problem = JSON.stringify({
        title: `Not for ${echo}`,
        detail: `\u001b[31m${echo}`,
        code: 'denied',
      });
      if (request.url === '/health')
        response.writeHead(302, { location: `/elsewhere?key=${echo}`, 'x-echo': echo }).end();
      else response.writeHead(403, { 'content-type': 'application/problem+json' }).end(problem);
    }).listen(0, '127.0.0.1');
    await once(host, 'listening');
    const SVC_SERVER = `http://127.0.0.1:${(host.address() as AddressInfo).port}`;
    const env = { SVC_SERVER, SVC_API_KEY: key };
    const moved = await runTool(['--verbose', 'api', 'getHealth'], { env });
    expect([moved.code, moved.stdout]).toEqual([1, '']);
    expect(moved.stderr).toContain('where nothing was sent');
    expect(seen).toEqual(['/health']);
    const denied = await runTool(['--verbose', 'api', 'getReadiness'], { env });
    expect([denied.code, denied.stderr]).toEqual([
      5,
      expect.stringContaining('403 Not for [redacted] [denied]'),
    ]);
    expect(denied.stderr).toContain('\\u001b[31m[redacted]');
    for (const end of [moved, denied]) expectNoSecret(end);
    host.close();
  });

  const openssl = spawnSync('openssl', ['version']).status === 0;
  test.skipIf(!openssl)('a certificate has to be known (left out without openssl)', async () => {
    const [cert, secret] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    const kind = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost';
    const names = ['-addext', 'subjectAltName=DNS:localhost', '-keyout', secret, '-out', cert];
    const made = spawnSync('openssl', kind.split(' ').concat(names));
    expect(made.status, String(made.stderr)).toBe(0);
    const seen: unknown[] = [];
    const host = createServer(
      { cert: readFileSync(cert), key: readFileSync(secret) },
      (request, response) => {
        seen.push(request.headers['x-svc-api-key']);
        response.setHeader('content-type', 'application/json').end('{"service":"svc"}');
      },
    ).listen(0, '127.0.0.1');
    await once(host, 'listening');
    const { port } = host.address() as AddressInfo;
    const env = { SVC_SERVER: `https://localhost:${port}`, SVC_API_KEY: key };
    const unknown = await runTool(['api', 'getHealth'], { env });
    expect([unknown.code, unknown.stderr]).toEqual([
      6,
      expect.stringMatching(/certificate of localhost.*NODE_EXTRA_CA_CERTS/),
    ]);
    expect(seen).toEqual([]);
    const trusting = { ...env, NODE_EXTRA_CA_CERTS: cert };
    expect((await runTool(['api', 'getHealth'], { env: trusting })).code).toBe(0);
    const named = { ...trusting, SVC_SERVER: `https://127.0.0.1:${port}` };
    expect((await runTool(['api', 'getHealth'], { env: named })).code).toBe(6);
    expect(seen).toEqual([key]);
    host.close();
  });
});

describe('a store that is not fit to serve', () => {
  /** The real operations on the real store, which no setting brings into this state. */
  async function serving(tenantPoliciesEnforced: boolean, flaw?: string) {
    const { clock, random, timers } = machine;
    const path = join(folder, `${flaw === undefined ? 'sound' : 'flawed'}-${tenantPoliciesEnforced}.sqlite`);
    const inner = await openSqliteStore({ path, clock, random, timers });
    const store = flaws.find(({ what }) => what === flaw)?.flawed(inner) ?? inner;
    const configuration = { ...unconfigured.configuration, development: false, tenantPoliciesEnforced };
    const { preflightCanonicalStore, probeCanonicalStoreDataPlane } = operations;
    const chain = createChain({
      operations: { preflightCanonicalStore, probeCanonicalStoreDataPlane },
      handlers: handlersOver(store, { now: clock.now() }, { configuration }),
      validators: loadValidators,
      world: machine,
      authenticator: { authenticate: () => Promise.resolve(anonymous) },
      authorizer: { authorize: () => undefined },
      log: () => undefined,
      rateLimit: null,
      validateResponses: true,
    });
    const host = await serveNode(chain, { host: '127.0.0.1', port: 0, world: machine });
    return {
      url: host.url,
      async [Symbol.asyncDispose]() {
        await host.stop();
        await inner.close();
      },
    };
  }

  test('is reported all the same, and ends it with 1', async () => {
    await using open = await serving(false);
    const end = await runTool(['canonical-preflight', '--server', open.url]);
    expect(end).toMatchObject({
      code: 1,
      stderr: 'The store is not fit to serve: no policy guards its tenants.\n',
    });
    expect(end.stdout).toMatch(/^tenant policies enforced +false$/m);
    expect(end.stdout).toMatch(/^authentication mode +none \(none once there are policies\)$/m);
    const answer = await runTool(['api', 'preflightCanonicalStore'], { env: { SVC_SERVER: open.url } });
    expect([answer.code, JSON.parse(answer.stdout)]).toMatchObject([6, { tenantPoliciesEnforced: false }]);
  });

  test('is shown by the probe, check by check', async () => {
    await using broken = await serving(true, 'swaps nothing');
    const passive = await runTool(['canonical-preflight', '--server', broken.url]);
    expect(passive.code).toBe(0);
    const end = await runTool(['canonical-preflight', '--server', broken.url, '--probe']);
    expect(end).toMatchObject({ code: 1, stderr: 'The store is not fit to serve: the probe failed.\n' });
    expect(end.stdout).toMatch(/^canonical\.archive_restore +failed +/m);
    expect(end.stdout).toMatch(/^canonical\.tenant_isolation +passed +/m);
  });
});
