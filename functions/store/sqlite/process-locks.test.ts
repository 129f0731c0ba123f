import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { ProcessLocks } from './process-locks.ts';

const folders: string[] = [];
function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'svc-process-locks-'));
  folders.push(made);
  return made;
}
afterEach(() => {
  for (const path of folders.splice(0)) rmSync(path, { recursive: true, force: true });
});

test('a name is locked as long as a process holds it, and its file is removed afterwards', () => {
  const place = folder();
  const one = new ProcessLocks(join(place, 'svc.sqlite'));
  const other = new ProcessLocks(join(place, 'svc.sqlite'));
  const release = one.hold('process-a');
  expect([one.isGone('process-a'), other.isGone('process-a')]).toEqual([false, false]);
  expect(readdirSync(place)).toEqual(['svc.sqlite.process-a.lock']);
  expect(other.isGone('process-b')).toBe(true);
  release();
  expect(other.isGone('process-a')).toBe(true);
  expect(readdirSync(place)).toEqual([]);
});

test('a killed process counts as gone, and a live one does not', async () => {
  const place = folder();
  const path = join(place, 'svc.sqlite');
  const locks = new ProcessLocks(path);
  const text = `
    import { ProcessLocks } from ${JSON.stringify(join(import.meta.dirname, 'process-locks.ts'))};
    new ProcessLocks(${JSON.stringify(path)}).hold('process-c');
    console.log('held');
    process.stdin.resume();`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', text], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  const exit = once(child, 'exit');
  locks.sweep(() => true);
  expect(locks.isGone('process-c')).toBe(false);
  child.kill('SIGKILL');
  await exit;
  expect(readdirSync(place)).toEqual(['svc.sqlite.process-c.lock']);
  expect(locks.isGone('process-c')).toBe(true);
  expect(readdirSync(place)).toEqual([]);
});

test('the lock files lie beside the database, also when it is opened by a symbolic link', () => {
  const [place, linked] = [folder(), folder()];
  writeFileSync(join(place, 'svc.sqlite'), '');
  symlinkSync(join(place, 'svc.sqlite'), join(linked, 'link.sqlite'));
  const release = new ProcessLocks(join(linked, 'link.sqlite')).hold('process-a');
  expect(new ProcessLocks(join(place, 'svc.sqlite')).isGone('process-a')).toBe(false);
  release();
});

test('a sweep removes the files of dead processes, and no others', () => {
  const place = folder();
  const locks = new ProcessLocks(join(place, 'svc.sqlite'));
  const release = locks.hold('process-a');
  const names = ['svc.sqlite.process-b.lock', 'svc.sqlite.mine.lock', 'other.sqlite.process-b.lock'];
  for (const name of names) writeFileSync(join(place, name), '');
  locks.sweep((name) => name.startsWith('process-'));
  expect(readdirSync(place).sort()).toEqual([...names.slice(1), 'svc.sqlite.process-a.lock'].sort());
  release();
});
