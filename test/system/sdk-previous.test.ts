import { execFile, spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'sdk-tag-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Exit code and words of the check, in this project or another clone of it. */
function check(...args: readonly string[]): Promise<{ code: number | null; output: string }> {
  return checkIn(root, ...args);
}

function checkIn(cwd: string, ...args: readonly string[]): Promise<{ code: number | null; output: string }> {
  return new Promise((settle) => {
    const child = execFile(
      process.execPath,
      ['scripts/previous-sdk-tests.ts', ...args],
      { cwd, maxBuffer: 2 ** 24 },
      (_, stdout, stderr) => settle({ code: child.exitCode, output: stdout + stderr }),
    );
  });
}

/** The tree of a tag: the tests of the SDKs, with one change. */
function release(name: string, path: string, change: (text: string) => string): string {
  const tree = join(folder, name);
  for (const part of ['typescript/test', 'python/tests/typing'])
    cpSync(join(root, 'sdk', part), join(tree, 'sdk', part), { recursive: true });
  edit(join(tree, 'sdk', path), change);
  return tree;
}

function edit(file: string, change: (text: string) => string): void {
  const text = readFileSync(file, 'utf8');
  expect(change(text), file).not.toBe(text);
  writeFileSync(file, change(text));
}

/** The project as a repository of its own, with nothing committed but a file: its SDKs and its scripts are copies. */
function repository() {
  const place = join(folder, 'repository');
  mkdirSync(place);
  for (const name of readdirSync(root)) {
    if (!['sdk', 'scripts', 'dist', '.git'].includes(name)) symlinkSync(join(root, name), join(place, name));
  }
  for (const name of ['sdk', 'scripts']) {
    const filter = (path: string) => !/__pycache__|[\\/]\./.test(path.slice(root.length));
    cpSync(join(root, name), join(place, name), { recursive: true, filter });
  }
  const git = (...args: readonly string[]) => {
    const who = ['-c', 'user.name=test', '-c', 'user.email=test@example.com'];
    const { status, stderr } = spawnSync('git', [...who, ...args], { cwd: place, encoding: 'utf8' });
    expect(status, stderr).toBe(0);
  };
  const commit = (...paths: readonly string[]) => {
    git('add', ...paths);
    git('commit', '--quiet', '--message', 'x');
  };
  git('init', '--quiet');
  commit('scripts');
  return { place, git, commit };
}

describe('code for the last release', () => {
  test('can compile against this one', async () => {
    const { code, output } = await check();
    expect(output).toMatch(/: compiles$|nothing to compare with$/m);
    expect(code, output).toBe(0);
  });

  test('can compile where nothing was taken away', async () => {
    const { code, output } = await check(
      '--tree',
      release('same', 'typescript/test/wire.ts', (text) => `${text}\n`),
    );
    expect(output).toMatch(/tests in TypeScript.*, typed usage in Python: compiles$/m);
    expect(code).toBe(0);
  });

  test('fails for a removed method, in TypeScript', async () => {
    const tree = release('typescript', 'typescript/test/server.test.ts', (text) =>
      text.replace('client.health()', 'client.wellness()'),
    );
    const { code, output } = await check('--tree', tree);
    expect(output).toContain("'wellness' does not exist");
    expect(code).toBe(1);
  });

  test('fails for a removed method, in Python', async () => {
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

describe('a repository', () => {
  test('lists members of its last tag that it lacks', async () => {
    const { place, git, commit } = repository();
    expect(await checkIn(place)).toEqual({
      code: 0,
      output: 'there is no tag here: nothing to compare with\n',
    });
    git('tag', 'v0.1.0');
    const none = 'v0.1.0 has no SDK: nothing to compare with\n';
    expect(await checkIn(place)).toEqual({ code: 0, output: none });
    expect(await checkIn(place, '--ref', 'v0.1.0'), 'who asks for it').toEqual({ code: 1, output: none });
    expect(await checkIn(place, '--ref', 'v9')).toMatchObject({
      code: 1,
      output: expect.stringMatching(/^v9 is no commit here/),
    });

    commit('sdk');
    git('tag', 'v0.10.0');
    git('tag', 'v0.9.0');
    edit(join(place, 'sdk/typescript/src/generated/groups/server.ts'), (text) =>
      text.replace('  health(options', '  wellness(options'),
    );
    edit(join(place, 'sdk/python/src/svc_client/_generated/client.pyi'), (text) =>
      text.replace('def commit_canonical_transaction(', 'def commit_transaction('),
    );
    commit('sdk');
    for (const args of [[], ['--ref', 'HEAD~1']]) {
      const { code, output } = await checkIn(place, ...args);
      expect(output).toContain("Property 'health' does not exist on type 'SvcClient'");
      expect(output).toContain('"commit_canonical_transaction" for class "Client"');
      expect(output).toMatch(args.length === 0 ? /^v0\.10\.0: .* any more$/m : /^HEAD~1: .* any more$/m);
      expect(code).toBe(1);
    }
  });

  test('ignores tests of internal modules, which no release promises', async () => {
    const tree = release('inside', 'typescript/test/wire.ts', (text) => `${text}\n`);
    const own = "import { nothing } from '../src/retry.ts';\n\nexport const own = nothing;\n";
    writeFileSync(join(tree, 'sdk/typescript/test/own.test.ts'), own);
    const { code, output } = await check('--tree', tree);
    expect(output).toMatch(/\(but .*own\.test\.ts.*, of the inside\).*: compiles$/m);
    expect(code).toBe(0);
  });
});
