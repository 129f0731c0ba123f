import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'sdk-tag-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Exit code and words of the check. */
function check(...args: readonly string[]): Promise<{ code: number | null; output: string }> {
  return new Promise((settle) => {
    const child = execFile(
      process.execPath,
      ['scripts/previous-sdk-tests.ts', ...args],
      { cwd: root, maxBuffer: 2 ** 24 },
      (_, stdout, stderr) => settle({ code: child.exitCode, output: stdout + stderr }),
    );
  });
}

/** What a tag would hold: the tests of the SDKs, with one change. */
function release(name: string, path: string, change: (text: string) => string): string {
  const tree = join(folder, name);
  for (const part of ['typescript/test', 'python/tests/typing'])
    cpSync(join(root, 'sdk', part), join(tree, 'sdk', part), { recursive: true });
  const file = join(tree, 'sdk', path);
  writeFileSync(file, change(readFileSync(file, 'utf8')));
  return tree;
}

describe('who wrote against the last release', () => {
  test('can compile against this one', async () => {
    const { code, output } = await check();
    expect(output).toMatch(/: compiles$|nothing to compare with$/m);
    expect(code, output).toBe(0);
  });

  test('can compile where nothing was taken away', async () => {
    const { code, output } = await check(
      '--tree',
      release('same', 'typescript/test/wire.ts', (text) => text),
    );
    expect(output).toMatch(/tests in TypeScript, typed usage in Python: compiles$/m);
    expect(code).toBe(0);
  });

  test('is told what is gone, in TypeScript', async () => {
    const tree = release('typescript', 'typescript/test/server.test.ts', (text) =>
      text.replace('client.health()', 'client.wellness()'),
    );
    const { code, output } = await check('--tree', tree);
    expect(output).toContain("'wellness' does not exist");
    expect(code).toBe(1);
  });

  test('is told what is gone, in Python', async () => {
    const tree = release(
      'python',
      'python/tests/typing/usage.py',
      (text) => `${text}\n\nfrom svc_client import Client as _Client\n\n_Client("http://x").wellness()\n`,
    );
    const { code, output } = await check('--tree', tree);
    expect(output).toContain('wellness');
    expect(code).toBe(1);
  });
});
