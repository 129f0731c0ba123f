import { chownSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { keepRights, writeTogether } from './rewrite.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-rewrite-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const at = (name: string) => join(folder, name);
const texts = () =>
  Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(at(name), 'utf8')]));
const changes = () => ['new', 'keys', 'settings'].map((name) => ({ path: at(name), text: `${name} after` }));

function files(): void {
  for (const name of ['keys', 'settings']) writeFileSync(at(name), `${name} before`, { mode: 0o640 });
}

test('all files have their new text, and a new one is for its owner alone', async () => {
  files();
  await writeTogether(changes());
  expect(texts()).toEqual({ new: 'new after', keys: 'keys after', settings: 'settings after' });
  expect(statSync(at('new')).mode & 0o777).toBe(0o600);
});

test.each(['new', 'keys', 'settings'])('where %s breaks, all files are as they were', async (broken) => {
  files();
  const move = async (from: string, to: string) => {
    if (to === at(broken)) throw new Error('the disk is gone');
    await rename(from, to);
  };
  const message = `${at(broken)} cannot be written: the disk is gone. Nothing was written.`;
  await expect(writeTogether(changes(), move)).rejects.toThrow(message);
  expect(texts()).toEqual({ keys: 'keys before', settings: 'settings before' });
  expect(statSync(at('keys')).mode & 0o777).toBe(0o640);
});

test('a file that cannot be brought back is named', async () => {
  files();
  const move = async (from: string, to: string) => {
    if (to === at('settings')) {
      rmSync(folder, { recursive: true });
      writeFileSync(folder, 'no folder');
      throw new Error('the disk is gone');
    }
    await rename(from, to);
  };
  await expect(writeTogether(changes(), move)).rejects.toThrow(
    `Take back by hand: ${at('keys')}, ${at('new')}.`,
  );
});

const notRoot = process.getuid?.() === 0 ? '' : ' (skipped: only root may give a file to another owner)';
test.skipIf(notRoot !== '')(`a file of another owner keeps owner and group${notRoot}`, async () => {
  files();
  chownSync(at('settings'), 1_234, 4_321);
  await writeTogether(changes());
  expect(statSync(at('settings'))).toMatchObject({ uid: 1_234, gid: 4_321 });
  expect(statSync(at('settings')).mode & 0o777).toBe(0o640);
});

test('an owner that the system does not let be kept is refused, and the own one needs no right', async () => {
  const asked: string[] = [];
  const file = {
    stat: () => Promise.resolve({ uid: 1, gid: 2 }),
    chown: () => Promise.reject(Object.assign(new Error('no'), { code: 'EPERM' })),
    chmod: (mode: number) => Promise.resolve(void asked.push(mode.toString(8))),
  } as unknown as Parameters<typeof keepRights>[0];
  await keepRights(file, { uid: 1, gid: 2, mode: 0o100640 });
  for (const owner of [
    { uid: 1, gid: 3 },
    { uid: 3, gid: 2 },
  ]) {
    const refused = keepRights(file, { ...owner, mode: 0o100640 });
    await expect(refused).rejects.toThrow(`it belongs to user ${owner.uid} and group ${owner.gid}`);
  }
  expect(asked).toEqual(['640']);
});
