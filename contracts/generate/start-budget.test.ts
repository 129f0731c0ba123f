import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, describe, expect, it } from 'vitest';
import { bytesIn, closure, start } from '../../scripts/build.ts';
import type { Catalog, CatalogOperation } from './catalog.ts';
import { emitGroupModules, emitGroups } from './emit-groups.ts';
import { emitOperations } from './emit-operations.ts';
import { emitValidators } from './emit-validators.ts';
import { readSource } from './source.ts';

/** As many more operations as the contract had in its first release. */
const ADDED = 43;
const NEW_GROUPS = 'parcels invoices ledgers'.split(' ');

const root = process.cwd();
const source = readSource(root);
const folder = mkdtempSync(join(tmpdir(), 'start-budget-'));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The catalog with operations of more groups: each is a copy of an existing operation with a new id and path. */
function grown(catalog: Catalog): Catalog {
  const added = Array.from({ length: ADDED }, (_, at) => {
    const group = NEW_GROUPS[at % NEW_GROUPS.length] ?? '';
    const original = catalog.operations[at % catalog.operations.length];
    if (original === undefined) throw new Error('the catalog is empty');
    return copyOf(original, group, at);
  });
  const groups = NEW_GROUPS.map((name) => [name, { position: 100, title: name, description: name }] as const);
  return {
    ...catalog,
    groups: { ...catalog.groups, ...Object.fromEntries(groups) },
    operations: [...catalog.operations, ...added],
  };
}

function copyOf(original: CatalogOperation, group: string, at: number): CatalogOperation {
  const routes = original.routes.map((route) => ({
    ...route,
    operationId: `${route.operationId}${at}`,
    path: `/${group}/${at}${route.path}`,
  }));
  return { ...original, id: `${original.id}${at}`, group, routes };
}

/** A copy of the service, made of this catalog instead of the published one. */
async function serviceOf(catalog: Catalog): Promise<string> {
  const skipped = /\.test\.ts$|contracts[\\/](releases|generated[\\/]openapi|generated[\\/]schemas)/;
  for (const path of ['functions', 'contracts', 'package.json'])
    cpSync(join(root, path), join(folder, path), { recursive: true, filter: (from) => !skipped.test(from) });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const changed = { ...source, catalog };
  const put = (path: string, text: string) => writeFileSync(join(folder, path), text);
  put('contracts/generated/groups.ts', emitGroups(changed));
  put('functions/compose/generated/groups.ts', emitGroupModules(changed));
  for (const [name, text] of emitOperations(changed)) put(`contracts/generated/${name}`, text);
  // The other groups keep their operations and so their validators.
  for (const [name, text] of await emitValidators(changed, NEW_GROUPS))
    put(`contracts/generated/validators/${name}`, text);
  for (const name of NEW_GROUPS)
    put(
      `functions/compose/groups/${name}.ts`,
      'export const group = { bytesMax: 1, load: async () => ({ handlers: {}, extra: [] }) };',
    );
  return folder;
}

/** Bytes that every function of a service reads before its first request. */
async function startOf(service: string): Promise<number> {
  const { metafile } = await build({
    absWorkingDir: service,
    entryPoints: { index: 'functions/index.ts' },
    outdir: join(service, 'out'),
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    splitting: true,
    minify: true,
    packages: 'external',
    external: ['*.json'],
    metafile: true,
    write: false,
    logLevel: 'error',
  });
  return bytesIn(metafile, closure(metafile, ['out/index.js']));
}

describe('the start of a function', () => {
  it('does not grow with the operations of other groups', async () => {
    const now = await startOf(root);
    const catalog = grown(source.catalog);
    const later = await startOf(await serviceOf(catalog));
    expect(catalog.operations).toHaveLength(source.catalog.operations.length + ADDED);
    expect(Object.keys(catalog.groups)).toEqual(expect.arrayContaining(NEW_GROUPS));
    expect(start.bytesMax).toBeLessThanOrEqual(222_000);
    expect(later).toBeLessThanOrEqual(start.bytesMax);
    // Both tables of the page: that of sizes, and that of cold starts.
    const said = readFileSync('docs/performance.md', 'utf8').match(
      /before its first request[^\n]*\| 222,000 \|/g,
    );
    expect([start.bytesMax, said?.length]).toEqual([222_000, 2]);
    // The remaining bytes are the row of each group in the tables of loaders.
    expect(later - now).toBeLessThan(1_000 * NEW_GROUPS.length);
    console.log(
      `start: ${now} bytes at ${source.catalog.operations.length} operations, ${later} at ${catalog.operations.length}`,
    );
  });
});
