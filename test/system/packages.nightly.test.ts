import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makePackages } from '../../scripts/packages/make.ts';
import { cells, shareOfMatrix } from '../../scripts/packages/matrix/cells.ts';
import { archivesIn, type ServedPackages, servedPackages } from '../../scripts/packages/matrix/run.ts';
import { recipes } from '../../scripts/packages/recipes.ts';

/** The whole matrix of the packed files; each change runs the share in packages.test.ts. */

const folder = mkdtempSync(join(tmpdir(), 'svc-packages-matrix-'));
let served: ServedPackages;
beforeAll(async () => {
  await makePackages(recipes, { outdir: folder, accept: false, onMade: () => {} });
  served = await servedPackages(await archivesIn(folder));
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

test.each(await cells())('the packed files work: $id', async (cell) => {
  expect(await cell.run(served.archives, served.url)).not.toBe('');
});

test('the share of each change is a part of the matrix', async () => {
  expect((await cells()).map(({ id }) => id)).toEqual(expect.arrayContaining(shareOfMatrix));
});
