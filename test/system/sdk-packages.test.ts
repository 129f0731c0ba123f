import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import root from '../../package.json' with { type: 'json' };
import { toolPath, toolsMissing } from '../../scripts/tools.ts';
import { buildPython } from '../support/python.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';

/** The packages as they would be published, in an empty project, against the real server. */

const run = promisify(execFile);
const project = resolve(import.meta.dirname, '../..');
const bin = join(project, 'node_modules/.bin');
const folder = mkdtempSync(join(tmpdir(), 'sdk-packages-'));
const { PATH, HOME } = process.env;

let server: ServerProcess;

beforeAll(async () => {
  server = await startServer({ SVC_DATA_DIR: join(folder, 'data') });
});

afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The output of a command; throws with all its output where it fails. */
async function said(
  command: string,
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
) {
  try {
    return (await run(command, args, { cwd, env: { PATH, HOME, NO_COLOR: '1', ...env } })).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${command} ${args.join(' ')}\n${stdout}${stderr}`, { cause: error });
  }
}

/** The output of both programs, so that one list states the duties of a client. */
const expected = [
  'ok',
  root.version,
  'committed once, then replayed: false true',
  'found: 1 1250.5',
  'pages: c-1 c-2 c-3',
  'refused: 412 precondition_failed',
];

const javascript = `
import { PreconditionFailedError, SvcClient, VERSION } from '@svc-runtime/client';
const client = new SvcClient();
const [tenant] = process.argv.slice(2);
const creation = (id) => ({
  idempotencyKey: 'create-' + id,
  mutations: [{
    document: { tenantId: tenant, documentType: 'claim', id, schemaVersion: '1', data: { amount: 1250.5 } },
    precondition: { mustNotExist: true },
  }],
});
console.log((await client.health()).status);
console.log(VERSION);
const first = await client.commitCanonicalTransaction(tenant, creation('c-1'));
const again = await client.commitCanonicalTransaction(tenant, creation('c-1'));
console.log('committed once, then replayed:', first.replayed, again.replayed);
const document = await client.getCanonicalDocument(tenant, { documentType: 'claim', id: 'c-1' });
console.log('found:', document.revision, document.data.amount);
for (const id of ['c-2', 'c-3']) await client.commitCanonicalTransaction(tenant, creation(id));
const ids = [];
for await (const { id } of client.queryCanonicalDocuments(tenant, { documentType: 'claim', limit: 1 })) ids.push(id);
console.log('pages:', ...ids);
try {
  await client.commitCanonicalTransaction(tenant, { ...creation('c-1'), idempotencyKey: 'other' });
} catch (error) {
  if (!(error instanceof PreconditionFailedError)) throw error;
  console.log('refused:', error.status, error.code);
}
`;

const python = `
import sys
from svc_client import Client, PreconditionFailedError, VERSION

tenant = sys.argv[1]

def creation(id):
    document = {
        "tenantId": tenant, "documentType": "claim", "id": id, "schemaVersion": "1", "data": {"amount": 1250.5}
    }
    return {
        "idempotencyKey": "create-" + id,
        "mutations": [{"document": document, "precondition": {"mustNotExist": True}}],
    }

with Client() as client:
    print(client.health()["status"])
    print(VERSION)
    results = [client.commit_canonical_transaction(tenant, creation("c-1")) for _ in range(2)]
    print("committed once, then replayed:", *(str(each["replayed"]).lower() for each in results))
    document = client.get_canonical_document(tenant, {"documentType": "claim", "id": "c-1"})
    print("found:", document["revision"], document["data"]["amount"])
    for id in ("c-2", "c-3"):
        client.commit_canonical_transaction(tenant, creation(id))
    claims = client.query_canonical_documents(tenant, {"documentType": "claim", "limit": 1})
    print("pages:", *(each["id"] for each in claims))
    try:
        client.commit_canonical_transaction(tenant, {**creation("c-1"), "idempotencyKey": "other"})
    except PreconditionFailedError as error:
        print("refused:", error.status, error.code)
`;

describe('the npm package', () => {
  const source = join(folder, 'client');

  beforeAll(async () => {
    cpSync(join(project, 'sdk/typescript'), source, {
      recursive: true,
      filter: (path) => !/\/(test|dist|node_modules)$/.test(path),
    });
    const types = ['--typeRoots', join(project, 'node_modules/@types')];
    await said(join(bin, 'tsc'), ['-p', source, ...types], source);
  });

  test('installed in an empty project, it serves plain Node', async () => {
    const place = join(folder, 'empty');
    mkdirSync(place);
    await said('npm', ['pack', '--silent', '--pack-destination', place], source);
    const tarball = `svc-runtime-client-${root.version}.tgz`;
    expect(readdirSync(place)).toEqual([tarball]);
    writeFileSync(join(place, 'package.json'), '{"name":"empty","private":true,"type":"module"}');
    await said(
      'npm',
      ['install', '--offline', '--no-audit', '--no-fund', '--ignore-scripts', `./${tarball}`],
      place,
    );
    const modules = readdirSync(join(place, 'node_modules')).filter((name) => !name.startsWith('.'));
    expect(modules).toEqual(['@svc-runtime']);
    writeFileSync(join(place, 'program.js'), javascript);
    const output = await said(process.execPath, ['program.js', 'npm'], place, {
      SVC_BASE_URL: server.address,
    });
    expect(output.trim().split('\n')).toEqual(expected);
  });

  const tools = {
    publint: (place: string) => said(toolPath('.bin/publint'), ['--strict'], place),
    attw: (place: string) => said(toolPath('.bin/attw'), ['--pack', '.', '--profile', 'esm-only'], place),
  };

  test.skipIf(toolsMissing !== undefined).each(Object.entries(tools))(
    '%s finds no fault in it',
    async (_, check) => {
      expect(await check(source)).toMatch(/All good!|node16 .from ESM.[^\n]*🟢 .ESM./);
    },
  );

  test.skipIf(toolsMissing !== undefined).each(Object.entries(tools))(
    '%s would find types that are not there',
    async (name, check) => {
      const broken = join(folder, `broken-${name}`);
      cpSync(source, broken, { recursive: true });
      const path = join(broken, 'package.json');
      writeFileSync(path, readFileSync(path, 'utf8').replace('./dist/index.d.ts', './dist/none.d.ts'));
      await expect(check(broken)).rejects.toThrow(/none\.d\.ts|No types|UntypedResolution|Resolution failed/);
    },
  );
});

describe('the Python package', () => {
  test('built as a wheel and installed in an empty environment, it serves', async ({ skip }) => {
    const tools = await buildPython();
    if ('missing' in tools) {
      skip(tools.missing);
      return;
    }
    const source = join(folder, 'svc-runtime-client');
    cpSync(join(project, 'sdk/python'), source, {
      recursive: true,
      filter: (path) => !/\/(tests|__pycache__|\.[a-z_]+)$/.test(path) || path.endsWith('.gitignore'),
    });
    const wheels = join(folder, 'wheels');
    await said(
      tools.python,
      ['-m', 'build', '--wheel', '--no-isolation', '--outdir', wheels, source],
      folder,
    );
    const wheel = `svc_runtime_client-${root.version}-py3-none-any.whl`;
    expect(readdirSync(wheels)).toEqual([wheel]);
    const empty = join(folder, 'environment');
    await said(tools.python, ['-m', 'venv', '--without-pip', empty], folder);
    const own = join(empty, 'bin/python');
    const install = ['-m', 'pip', `--python=${own}`, 'install', '--quiet', '--no-index', '--no-deps'];
    await said(tools.python, [...install, join(wheels, wheel)], folder);
    // Isolated: nothing is found but what this environment has.
    const output = await said(own, ['-I', '-W', 'error', '-c', python, 'python'], empty, {
      SVC_BASE_URL: server.address,
    });
    expect(output.trim().split('\n')).toEqual(expected);
    const typed =
      'import svc_client, pathlib; print((pathlib.Path(svc_client.__file__).parent / "py.typed").exists())';
    expect(await said(own, ['-I', '-c', typed], empty)).toBe('True\n');
  });
});
