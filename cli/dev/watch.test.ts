import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { FilesWatch, type FilesWatchOptions } from './watch.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-watch-'));
const watches: FilesWatch[] = [];
afterEach(() => {
  for (const watch of watches.splice(0)) watch.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A watch, its words, and a function that waits for its next report. */
function watching(options: Partial<FilesWatchOptions> = {}) {
  const words: string[] = [];
  let wake = () => {};
  const watch = new FilesWatch({
    changed: () => wake(),
    warn: (text) => words.push(text),
    ...options,
  });
  watches.push(watch);
  const next = () => new Promise<void>((settle) => (wake = settle));
  return { watch, words, next };
}

function place(): string {
  const path = join(folder, 'place');
  mkdirSync(path, { recursive: true });
  return path;
}

const refused = (code: string) => () => {
  throw Object.assign(new Error('System limit'), { code });
};

test.each(['ENOSPC', 'EMFILE'])(
  'a machine that watches no more folders (%s) has its files polled',
  async (code) => {
    const file = join(place(), 'a.ts');
    writeFileSync(file, '1');
    const { watch, words, next } = watching({ watchFolder: refused(code) });
    watch.add(file);
    watch.add(join(folder, 'b.ts'));
    expect(words).toEqual([expect.stringContaining(`${place()} cannot be watched (${code})`)]);
    const changed = next();
    writeFileSync(file, '22');
    await changed;
  },
);

test('a file of a folder that is missing is noticed when it comes', async () => {
  const file = join(place(), 'later', 'a.ts');
  const { watch, words, next } = watching();
  watch.add(file);
  const changed = next();
  mkdirSync(join(place(), 'later'));
  writeFileSync(file, '1');
  await changed;
  expect(words).toEqual([]);
});

test('a folder that is replaced by another one goes on to be looked at', async () => {
  const file = join(place(), 'a.ts');
  writeFileSync(file, '1');
  const { watch, next } = watching();
  watch.add(file);
  const gone = next();
  renameSync(place(), join(folder, 'before'));
  await gone;
  const back = next();
  writeFileSync(join(place(), 'a.ts'), '22');
  await back;
});
