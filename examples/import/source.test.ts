import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { itemOf, writeCatalogue } from './catalogue.ts';
import { collect } from './collect.fixture.ts';
import { fileSource } from './source.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-import-source-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const name = { importId: 'run-1', sourceId: 'parts', sourceVersion: 3 };

test('a file is counted and hashed before, and read line by line over the borders of its blocks', async () => {
  const path = join(folder, 'whole.ndjson');
  await writeCatalogue(path, 3, 2000);
  const source = await fileSource(path, name, itemOf);
  expect(source).toMatchObject({ ...name, expectedCount: 2000 });
  expect(source.sourceHash).toMatch(/^sha256:[0-9a-f]{64}$/);
  const items = await collect(source.items());
  expect(items.map(({ id }) => id)).toEqual(
    Array.from({ length: 2000 }, (_, n) => `SKU-${String(n).padStart(7, '0')}`),
  );
  expect(items.every(({ data }) => data.edition === 3)).toBe(true);
  // Again, for a resumed import.
  expect(await collect(source.items())).toEqual(items);
});

test('empty lines are skipped, a last line needs no line end, and characters of many bytes stay whole', async () => {
  const path = join(folder, 'odd.txt');
  await writeFile(path, `\n${'é€😀'.repeat(20_000)}\n\r\n  \nlast`);
  const lines: string[] = [];
  const source = await fileSource(path, name, (line) => {
    lines.push(line);
    return { documentType: 't', id: 'i', schemaVersion: '1', data: {} };
  });
  expect(source.expectedCount).toBe(2);
  await collect(source.items());
  expect(lines).toEqual(['é€😀'.repeat(20_000), 'last']);
});

test('a file that changed meanwhile, or is no text, is no source', async () => {
  const path = join(folder, 'changing.ndjson');
  await writeCatalogue(path, 3, 10);
  const source = await fileSource(path, name, itemOf);
  await writeCatalogue(path, 4, 10);
  await expect(collect(source.items())).rejects.toThrow('changed while it was imported');
  await writeFile(path, Buffer.from([0xff, 0xfe, 0x0a]));
  await expect(fileSource(path, name, itemOf)).rejects.toThrow();
});
