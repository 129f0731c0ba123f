import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { banFaults, importFaults } from '../structure.ts';

const root = resolve(import.meta.dirname, '../..');
const files = globSync('dispatcher/**/*.ts', { cwd: root })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => !/\.(test|fixture)\.ts$/.test(path))
  .sort();
const textOf = (path: string) => readFileSync(join(root, path), 'utf8');

test('the dispatcher imports nothing but itself', () => {
  expect(files).toContain('dispatcher/dispatcher.ts');
  expect(files.flatMap((path) => importFaults(path, textOf(path)))).toEqual([]);
});

test('the dispatcher is handed clock, timers, chance and network, but for one file', () => {
  expect(files.flatMap((path) => banFaults(path, textOf(path)))).toEqual([]);
});

test.each([
  `import { limits } from '../contracts/generated/limits.ts';`,
  `import type { World } from '../functions/kernel/world.ts';`,
  `import { setTimeout as sleep } from 'node:timers/promises';`,
  `import ajv from 'ajv';`,
])('finds %s', (text) => {
  expect(importFaults('dispatcher/x.ts', text)).toHaveLength(1);
});

test.each(['Date.now()', 'performance.now()', 'setTimeout(a, 1)', 'Math.random()', 'fetch(url)'])(
  'finds %s outside the machine file, and lets it be there',
  (text) => {
    expect(banFaults('dispatcher/delivery.ts', text)).toHaveLength(1);
    expect(banFaults('dispatcher/machine.ts', text)).toEqual([]);
  },
);
