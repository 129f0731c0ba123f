import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';
import catalog from '../../contracts/public-sdk-surface.json' with { type: 'json' };
import { PythonNotFound, toolsPython } from '../../sdk/python/tools.ts';
import scenario from '../../sdk/scenario/scenario.json' with { type: 'json' };
import expected from '../../sdk/scenario/transcript.json' with { type: 'json' };
import { firestoreHost, firestoreMissing, firestoreProject } from '../support/firestore.ts';
import { pythonMissing } from '../support/python.ts';
import { startServer } from '../support/server-process.ts';
import { normalised, SCENARIO_SETTINGS } from './sdk-transcript.ts';

/** The same steps through the public methods of both SDKs, against the real server: what they give must be the same. */

const run = promisify(execFile);
const sdk = resolve(import.meta.dirname, '../../sdk');
const folder = mkdtempSync(join(tmpdir(), 'sdk-scenario-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Runner {
  readonly command: string;
  readonly program: string;
  readonly env: Readonly<Record<string, string>>;
  readonly more?: readonly string[];
}

const pythonEnv = { PYTHONPATH: join(sdk, 'python/src'), PYTHONDONTWRITEBYTECODE: '1' };
const languages = {
  typescript: { command: process.execPath, program: join(sdk, 'scenario/typescript.ts'), env: {} },
  python: { command: 'python3', program: join(sdk, 'scenario/python.py'), env: pythonEnv },
} as const;

/** Python with the packages that `AsyncClient` needs, or why there is none. CI counts on it. */
const tools = await toolsPython().catch((error: unknown) => {
  if (!(error instanceof PythonNotFound) || process.env.CI !== undefined) throw error;
  return error;
});
const asyncMissing = tools instanceof PythonNotFound ? `(skipped: ${tools.message})` : undefined;

function asynchronous(backend: 'asyncio' | 'trio'): Runner {
  const command = tools instanceof PythonNotFound ? 'python3' : tools;
  return { command, program: join(sdk, 'scenario/python_async.py'), env: pythonEnv, more: [backend] };
}

const databases: Readonly<
  Record<
    string,
    { names: readonly string[]; missing?: string | undefined; env: () => Record<string, string> }
  >
> = {
  sqlite: { names: ['sqlite'], env: () => ({ SVC_DATA_DIR: mkdtempSync(join(folder, 'data-')) }) },
  firestore: {
    names: ['firestore', 'google-firestore'],
    missing: firestoreMissing,
    env: () => ({
      SVC_CANONICAL_STORE_PROVIDER: 'firestore',
      FIRESTORE_EMULATOR_HOST: firestoreHost(),
      GOOGLE_CLOUD_PROJECT: firestoreProject(),
    }),
  },
};

/** The transcript of one run, on a database of its own. */
async function transcript(runner: Runner, database: string, steps: object = scenario): Promise<unknown> {
  const { command, program, env, more = [] } = runner;
  const path = join(folder, `${randomBytes(4).toString('hex')}.json`);
  writeFileSync(path, JSON.stringify(steps));
  const server = await startServer(databases[database]?.env() ?? {}, SCENARIO_SETTINGS);
  const tenant = `t-${randomBytes(6).toString('hex')}`;
  try {
    const { stdout } = await run(command, [program, path, server.address, tenant, ...more], {
      env: { PATH: process.env.PATH, ...env },
      maxBuffer: 2 ** 26,
    });
    return normalised(JSON.parse(stdout), { tenant, provider: databases[database]?.names ?? [] });
  } finally {
    await server.stop();
  }
}

describe.each(Object.entries(databases))('the scenario on %s', (database, { missing }) => {
  test.skipIf(missing !== undefined)(
    `in TypeScript gives what is written down ${missing ?? ''}`,
    async () => {
      expect(await transcript(languages.typescript, database)).toEqual(expected);
    },
  );

  const none = missing ?? pythonMissing;
  test.skipIf(none !== undefined)(`in Python gives what is written down ${none ?? ''}`, async () => {
    expect(await transcript(languages.python, database)).toEqual(expected);
  });

  const noAsync = missing ?? asyncMissing;
  test.skipIf(noAsync !== undefined).for(['asyncio', 'trio'] as const)(
    `in Python with AsyncClient on %s gives what is written down ${noAsync ?? ''}`,
    async (backend) => {
      expect(await transcript(asynchronous(backend), database)).toEqual(expected);
    },
  );
});

describe('the scenario', () => {
  test('makes every call of the canonical store and of the runtime, by its names in both languages', () => {
    const named = scenario.steps.map(({ method }) => method);
    for (const { group, sdk: names } of catalog.operations) {
      if (group === 'server' || names === null) continue;
      const { python, typescript } = names;
      expect(named).toContainEqual({ python, typescript });
    }
  });

  test('is written down step by step', () => {
    expect(expected.map(({ step }) => step)).toEqual(scenario.steps.map(({ step }) => step));
  });

  test('differs when one value differs', async () => {
    const changed = structuredClone(scenario);
    const text = JSON.stringify({ ...changed, steps: changed.steps.slice(0, 2) });
    const other = JSON.parse(text.replaceAll('125000', '125001')) as object;
    const given = (await transcript(languages.typescript, 'sqlite', other)) as object[];
    expect(given).not.toEqual(expected.slice(0, 2));
    const same = (await transcript(languages.typescript, 'sqlite', JSON.parse(text) as object)) as object[];
    expect(same).toEqual(expected.slice(0, 2));
  });
});

test('the transcript keeps equal values equal, and different values different', () => {
  const transcripts = [
    { leaseToken: 'a', at: '2026-01-02T03:04:05.000Z', id: `ctx_${'0'.repeat(32)}` },
    { leaseToken: 'b', of: `ctx_${'0'.repeat(32)}`, tenantId: 'mine', provider: 'sqlite' },
    { leaseToken: 'a', of: `ctx_${'1'.repeat(32)}`, tenantId: 'theirs' },
    { leaseKey: `run-${'1'.repeat(20)}`, runId: '2'.repeat(20), id: '1'.repeat(20), other: '1'.repeat(21) },
  ];
  expect(normalised(transcripts, { tenant: 'mine', provider: ['sqlite'] })).toEqual([
    { leaseToken: '<leaseToken 1>', at: '<time>', id: '<transaction 1>' },
    { leaseToken: '<leaseToken 2>', of: '<transaction 1>', tenantId: '<tenant>', provider: '<provider>' },
    { leaseToken: '<leaseToken 1>', of: '<transaction 2>', tenantId: 'theirs' },
    { id: '<id 1>', leaseKey: 'run-<id 1>', other: '1'.repeat(21), runId: '<id 2>' },
  ]);
});
