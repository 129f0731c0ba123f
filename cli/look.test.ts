import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test, vi } from 'vitest';
import { follow, inFolder, runTool } from '../test/support/operator-tool.ts';
import { notingWrites, withLook } from './look.ts';

/** A database and its log, as a copy of some files of a running server has them. */
function pairIn(folder: string): string {
  const source = join(folder, 'source.sqlite');
  const server = new DatabaseSync(source);
  server.exec('PRAGMA journal_mode = WAL; CREATE TABLE a (n INTEGER); INSERT INTO a VALUES (7)');
  const path = join(folder, 'pair', 'a.sqlite');
  mkdirSync(join(folder, 'pair'));
  for (const suffix of ['', '-wal']) cpSync(`${source}${suffix}`, `${path}${suffix}`);
  server.close();
  return path;
}

const rowsOf = (path: string) => {
  const database = new DatabaseSync(path, { readOnly: true });
  const rows = database.prepare('SELECT n FROM a').all();
  database.close();
  return rows;
};

test('a pair without its shared file is read in a copy, which has what the log has', () =>
  inFolder(async (folder) => {
    const path = pairIn(folder);
    let place = '';
    const rows = await withLook(path, false, async (at) => {
      place = at;
      return rowsOf(at);
    });
    expect(rows).toEqual([{ n: 7 }]);
    expect(place).not.toBe(path);
    expect(() => readdirSync(join(place, '..'))).toThrow('ENOENT');
    expect(readdirSync(join(folder, 'pair')).sort()).toEqual(['a.sqlite', 'a.sqlite-wal']);
  }));

test('the copy is removed where the look fails, and no listener stays', () =>
  inFolder(async (folder) => {
    const before = ['exit', 'SIGINT', 'SIGTERM', 'SIGHUP'].map((name) => process.listenerCount(name));
    let place = '';
    const look = withLook(pairIn(folder), false, async (at) => {
      place = at;
      throw new Error('no');
    });
    await expect(look).rejects.toThrow('no');
    expect(() => readdirSync(join(place, '..'))).toThrow('ENOENT');
    expect(['exit', 'SIGINT', 'SIGTERM', 'SIGHUP'].map((name) => process.listenerCount(name))).toEqual(
      before,
    );
  }));

test('a signal during the look removes the copy and ends the tool', () =>
  inFolder(async (folder) => {
    const path = pairIn(folder);
    const temporary = join(folder, 'temporary');
    mkdirSync(temporary);
    const program = join(folder, 'program.mts');
    const look = join(import.meta.dirname, 'look.ts');
    writeFileSync(
      program,
      `import { readdirSync } from 'node:fs';
       import { withLook } from ${JSON.stringify(look)};
       await withLook(${JSON.stringify(path)}, false, async () => {
         console.log(readdirSync(${JSON.stringify(temporary)}).length);
         process.kill(process.pid, 'SIGTERM');
         await new Promise((done) => setInterval(done, 2_147_483_647));
       });`,
    );
    const ended = await ranProgram(program, { TMPDIR: temporary });
    expect(ended).toEqual({ code: 143, stdout: '1\n' });
    expect(readdirSync(temporary)).toEqual([]);
  }));

function ranProgram(program: string, env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [program], { env: { PATH: process.env['PATH'] ?? '', ...env } });
  return follow(child).ended.then(({ code, stdout }) => ({ code, stdout }));
}

test('without room for the copy the sentence says why, and where there may be room', () =>
  inFolder(async (folder) => {
    const path = pairIn(folder);
    const { code, stdout } = await runTool(['doctor', `--CanonicalStore:DatabasePath=${path}`], {
      env: { TMPDIR: join(folder, 'missing') },
      cwd: folder,
    });
    expect(code).toBe(1);
    expect(stdout).toContain('is read in a copy');
    expect(stdout).toContain('TMPDIR');
  }));

test('a file that a server wrote to and left during the look is named, with the advice to look again', () =>
  inFolder(async (folder) => {
    const path = join(folder, 'a.sqlite');
    const write = () => {
      const server = new DatabaseSync(path);
      server.exec('CREATE TABLE IF NOT EXISTS a (n INTEGER); INSERT INTO a VALUES (1)');
      server.close();
    };
    write();
    const torn = () => Promise.reject(new Error('malformed'));
    await expect(notingWrites(path, torn)).rejects.toThrow('malformed');
    const written = async () => {
      write();
      return torn();
    };
    await expect(notingWrites(path, written)).rejects.toThrow('look again while no server writes');
    const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    try {
      await notingWrites(path, async () => undefined);
      expect(said).not.toHaveBeenCalled();
      await notingWrites(path, async () => write());
      expect(String(said.mock.calls[0]?.[0])).toContain('was written during the look');
    } finally {
      said.mockRestore();
    }
  }));
