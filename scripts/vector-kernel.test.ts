import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { kernelModule } from './vector-kernel.ts';

const folder = resolve(import.meta.dirname, '..', 'functions/store/nearest');
const text = readFileSync(join(folder, 'kernel.wat'), 'utf8');
const generated = readFileSync(join(folder, 'generated/kernel.ts'), 'utf8');

test('the kernel of searches by vector is the one that its text gives', async () => {
  expect(await kernelModule(text)).toBe(generated);
});

test('another text gives another kernel', async () => {
  expect(await kernelModule(text.replace('load8x8_s offset=8', 'load8x8_s'))).not.toBe(generated);
});
