import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { loadConfiguration } from '../config/load.ts';
import { inject } from '../http/host-inject.ts';
import { compose } from './compose.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-unserved-'));
afterAll(() => rmSync(folder, { recursive: true }));

const canonical = {
  'Server:CanonicalAccess:AllowedAudiences:0': 'a',
  'Server:CanonicalAccess:IdentityPolicies:0:Principal': 'a@b.c',
  'Server:CanonicalAccess:IdentityPolicies:0:AllowedTenantIds:0': 't',
  'Server:CanonicalAccess:IdentityPolicies:0:AllowedOperations:0': 'read',
  'CanonicalStore:DatabasePath': join(folder, 'svc.db'),
};
const execution = {
  'ExecutionRuntime:ProductPolicies:0:ProductId': 'p',
  'Server:ExecutionAccess:AllowedAudiences:0': 'a',
  'Server:ExecutionAccess:IdentityPolicies:0:Principal': 'a@b.c',
  'Server:ExecutionAccess:IdentityPolicies:0:ProductId': 'p',
  'Server:ExecutionAccess:IdentityPolicies:0:AllowedOperations:0': 'start_run',
};

function serviceOf(given: Record<string, string>) {
  const argv = Object.entries(given).map(([key, value]) => `--${key}=${value}`);
  const { settings, faults } = loadConfiguration({
    host: 'embedded',
    env: {},
    argv,
    readFile: () => undefined,
  });
  if (settings === undefined) throw new Error(faults.map(({ message }) => message).join());
  const lines: string[] = [];
  const service = compose(settings, { writeLog: (line) => lines.push(line) });
  return { service, lines };
}

async function runtimeCheck({ service }: ReturnType<typeof serviceOf>) {
  const answer = await inject(await service.chain(['server']), { method: 'GET', path: '/readiness' });
  const report = answer.json<{ checks: { id: string; status: string; message: string }[]; ready: boolean }>();
  return { ...report.checks.find(({ id }) => id === 'execution.runtime'), ready: report.ready };
}

const REASON = 'Runs are not served: outside Development they need Server:ExecutionAccess:IdentityPolicies.';

test('Production without execution policies says at its start, and in its readiness, that it serves no runs', async () => {
  const made = serviceOf({ Environment: 'Production', ...canonical });
  await made.service.start();
  expect(made.lines).toHaveLength(1);
  expect(JSON.parse(made.lines[0] ?? '')).toMatchObject({
    severity: 'WARNING',
    message: `${REASON} Set them (docs/access.md), or set ExecutionRuntime:Enabled to false.`,
  });
  expect(await runtimeCheck(made)).toMatchObject({ status: 'warning', message: REASON });
  await made.service.close();
});

test.each([
  [
    'with policies',
    { Environment: 'Production', ...canonical, ...execution },
    { status: 'ok', message: 'Runs are served.' },
  ],
  [
    'without the runtime',
    { Environment: 'Production', ...canonical, 'ExecutionRuntime:Enabled': 'false' },
    { status: 'ok', message: 'The execution runtime is disabled.' },
  ],
  ['in Development', {}, { status: 'ok', message: 'Runs are served.' }],
])('a service %s says so, without a warning', async (_, given, check) => {
  const made = serviceOf(given);
  expect(await runtimeCheck(made)).toMatchObject(check);
  expect(made.lines).toEqual([]);
  await made.service.close();
});
