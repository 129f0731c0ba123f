import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { nameOf, readWorkTree } from './repeat/work-tree.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-repeat-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const program = resolve(import.meta.dirname, 'repeat.ts');
const command = (...argv: string[]) => [program, ...argv];

/** A project of one plain test, committed. The test uses the globals of vitest, because the project has no packages. */
function project(name: string, body: string): string {
  const place = join(folder, name);
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], { cwd: place });
  const files = {
    'vitest.config.mjs': `export default { test: { globals: true, projects: [{ extends: true, test: { name: 'plain' } }] } };`,
    'a.test.ts': `import { appendFileSync, readFileSync } from 'node:fs';\n${body}`,
    '.gitignore': 'dist\nnode_modules\n',
    'dist/count': '',
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(place, path)), { recursive: true });
    writeFileSync(join(place, path), text);
  }
  git('init', '--quiet');
  git('add', '.');
  git('commit', '--quiet', '-m', 'a project');
  return place;
}

/** Everything of one kind that is in the folder of the only series of a project. */
function rounds(place: string): string[] {
  const entries = readdirSync(join(place, 'dist/test-repeat'), { recursive: true, encoding: 'utf8' });
  return entries.filter((path) => path.endsWith('.json')).sort();
}

const planted = `
test('fails in its second run alone', () => {
  appendFileSync('dist/count', 'x');
  expect(readFileSync('dist/count', 'utf8'), 'the planted failure').not.toBe('xx');
});`;

describe('npm run test:repeat', () => {
  test('names the round of a failure, and goes on with the series of the commit', () => {
    const place = project('planted', planted);
    const run = (...argv: string[]) =>
      spawnSync(process.execPath, command(...argv), {
        cwd: place,
        encoding: 'utf8',
        env: { ...process.env, CI: '' },
      });
    const first = run('plain', '--times', '2');
    expect(first.stdout).toContain('0 rounds so far');
    expect(first.stdout).toContain('round 1: 1 passed, 0 failed, 0 skipped');
    expect(first.stdout).toContain('round 2: 0 passed, 1 failed, 0 skipped');
    expect(first.stdout).toContain('failed in round 2 of 2: a.test.ts > fails in its second run alone');
    expect(first.stdout).toContain('    AssertionError: the planted failure');
    expect(first.status).toBe(1);
    const second = run('plain', '--times', '3');
    expect(second.stdout).toContain('2 rounds so far\nround 3 of 3');
    expect(second.stdout).toContain('failed in round 2 of 3: ');
    expect(second.status).toBe(1);
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: place, encoding: 'utf8' }).slice(0, 12);
    expect(rounds(place)).toEqual([1, 2, 3].map((number) => `${commit}/plain-0/round-${number}.json`));

    writeFileSync(join(place, 'b.ts'), '');
    const refused = run('plain');
    expect([refused.status, refused.stderr]).toEqual([2, expect.stringContaining('--dirty')]);
    const [one, other] = ['', 'more'].map((text) => {
      writeFileSync(join(place, 'b.ts'), text);
      return nameOf(readWorkTree(place));
    });
    expect(one).toMatch(new RegExp(`^${commit}-dirty-[0-9a-f]{8}$`));
    expect(other).not.toBe(one);
  }, 900_000);

  test('leaves nothing running and no round when a signal cuts it off', async () => {
    const place = project(
      'endless',
      `import { connect } from 'node:net';
      test('hangs', () => new Promise(() => connect('dist/started')), 0);`,
    );
    const server = createServer().listen(join(place, 'dist/started'));
    const child = spawn(process.execPath, command('plain', '--load', '2'), { cwd: place, stdio: 'pipe' });
    child.stdout.resume();
    child.stderr.resume();
    const [socket] = (await once(server, 'connection')) as [Socket];
    socket.on('error', () => undefined).resume();
    server.close();
    child.kill('SIGTERM');
    // The pipes close when no process holds them: neither the runner, nor Vitest, nor one of the load.
    expect(await once(child, 'close')).toEqual([143, null]);
    expect(rounds(place)).toEqual([]);
  });

  test('leaves no load behind when it is killed', async () => {
    const burners = resolve(import.meta.dirname, 'repeat/burners.ts');
    const script = `import { Burners } from ${JSON.stringify(burners)}; new Burners(2); console.log('burning');`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'pipe' });
    await once(child.stdout, 'data');
    child.stderr.resume();
    child.kill('SIGKILL');
    expect(await once(child, 'close')).toEqual([null, 'SIGKILL']);
  });
});
