import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { PythonNotFound, toolsPython } from '../../sdk/python/tools.ts';
import { Program, root } from './program.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-starter-python-')));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Python with the tools, or the reason for its absence. CI needs it. */
const python = await toolsPython().catch((error: unknown) => {
  if (!(error instanceof PythonNotFound) || process.env['CI'] === 'true') throw error;
  return error;
});

const title =
  'the starter in Python has no type errors, and its own test passes against a service without settings';
if (python instanceof PythonNotFound) test.skip(`${title} (skipped: ${python.message})`, () => {});
else
  test(title, async () => {
    const packages = join(folder, 'packages');
    mkdirSync(packages);
    for (const file of ['svc-runtime-server-0.0.0.tgz', 'svc_runtime_client-0.0.0-py3-none-any.whl'])
      writeFileSync(join(packages, file), '');
    const app = join(folder, 'app');
    const words = [join(root, 'create-svc-app/main.js'), app, '--language', 'python', '--from', packages];
    await using create = new Program(words, { cwd: folder });
    expect(await create.exit, create.stderr).toEqual({ code: 0, signal: null });
    // The client as the wheel holds it.
    const env = { PYTHONPATH: join(root, 'sdk/python/src'), MYPYPATH: join(root, 'sdk/python/src') };
    await using types = new Program(['-m', 'mypy', '--strict', '--cache-dir', join(folder, 'mypy'), '.'], {
      cwd: app,
      command: python,
      env,
    });
    expect(await types.exit, types.stdout).toEqual({ code: 0, signal: null });
    await using served = new Program([join(root, 'functions/embedded.ts'), 'dev', '--port', '0'], {
      cwd: app,
    });
    const [, address = ''] = await served.says(/^ {2}api +(\S+)$/m);
    await using tests = new Program(['-m', 'unittest'], {
      cwd: app,
      command: python,
      env: { ...env, SVC_BASE_URL: address },
    });
    expect(await tests.exit, tests.stderr).toEqual({ code: 0, signal: null });
    expect(tests.stderr).toMatch(/Ran 3 tests/);
    expect(tests.stderr).not.toContain('skipped');
  });
