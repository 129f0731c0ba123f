import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sdkOutputs } from '../../../contracts/generate/sdk/outputs.ts';
import { type ContractSource, readSource } from '../../../contracts/generate/source.ts';

const COPIES = 1;
/**
 * 1,200 of these bytes name the faulty place of a request, and suggest the intended member; 200 give an error its target and
 * a trace to the caller.
 */
const CORE_MAX = 23_250;
const WHOLE_MAX = 64_000;
/** The limit for one operation: its method and its table entry together. */
const OPERATION_MAX = 400;

const source = readSource(process.cwd());
const folder = mkdtempSync(join(tmpdir(), 'sdk-size-'));
const sdk = join(folder, 'sdk/typescript');
const groups = Object.keys(source.catalog.groups);

/** The contract with every group `COPIES` times, under other names. */
function grown(): ContractSource {
  const { catalog } = source;
  const copies = Array.from({ length: COPIES }, (_, index) => (index === 0 ? '' : String(index + 1)));
  return {
    ...source,
    catalog: {
      ...catalog,
      groups: Object.fromEntries(
        copies.flatMap((copy) =>
          Object.entries(catalog.groups).map(([name, its]) => [`${name}${copy}`, its]),
        ),
      ),
      operations: copies.flatMap((copy) =>
        catalog.operations.map((operation) => ({
          ...operation,
          id: `${operation.id}${copy}`,
          group: `${operation.group}${copy}`,
          sdk: operation.sdk && {
            typescript: `${operation.sdk.typescript}${copy}`,
            python: `${operation.sdk.python}${copy}`,
          },
        })),
      ),
    },
  };
}

beforeAll(() => {
  cpSync(resolve(import.meta.dirname, '../src'), join(sdk, 'src'), {
    recursive: true,
    filter: (path) => !path.endsWith('/generated'),
  });
  for (const [path, text] of sdkOutputs(grown())) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The size of a minified program, and the groups in its bundle. */
async function bundled(
  contents: string,
): Promise<{ readonly bytes: number; readonly held: readonly string[] }> {
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: join(sdk, 'src') },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    metafile: true,
    write: false,
  });
  const [output] = Object.values(metafile.outputs);
  const held = Object.entries(output?.inputs ?? {})
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .flatMap(([path]) => /\/generated\/(?:clients|groups|operations)\/([\w-]+)\.ts$/.exec(path)?.[1] ?? []);
  return { bytes: outputFiles[0]?.contents.length ?? 0, held: [...new Set(held)].toSorted() };
}

describe('a client of 129 operations', () => {
  const core = "export * from './core.ts'; export * from './common.ts';";

  test('has 129 operations', () => {
    expect(COPIES * source.catalog.operations.length).toBeGreaterThanOrEqual(129);
  });

  test('has a small core', async () => {
    const { bytes, held } = await bundled(core);
    expect(held).toEqual([]);
    expect(bytes).toBeLessThanOrEqual(CORE_MAX);
  });

  test('is small as a whole', async () => {
    const { bytes, held } = await bundled("export * from './index.ts';");
    expect(held).toHaveLength(COPIES * groups.length);
    expect(bytes).toBeLessThanOrEqual(WHOLE_MAX);
  });

  test.each(groups)('costs the core and %s where that group alone is imported', async (group) => {
    const { bytes, held } = await bundled(`export * from './generated/clients/${group}.ts';`);
    expect(held).toEqual([group]);
    const operations = source.catalog.operations.filter((each) => each.group === group).length;
    expect(bytes).toBeLessThanOrEqual((await bundled(core)).bytes + operations * OPERATION_MAX);
  });

  test('costs two groups where two are imported', async () => {
    const [first = '', second = ''] = groups;
    const { held } = await bundled(
      [first, second].map((group) => `export * from './generated/clients/${group}.ts';`).join('\n'),
    );
    expect(held).toEqual([first, second].toSorted());
  });

  const readme = readFileSync('sdk/typescript/README.md', 'utf8');
  const performance = readFileSync('docs/performance.md', 'utf8');
  const whole = "export * from './index.ts';";
  const alone = (group: string) => `export * from './generated/clients/${group}.ts';`;
  /** The figures of the row of a table, by what its first cell begins with. */
  const figuresOf = (page: string, cell: string) => {
    const row = page.split('\n').find((line) => line.startsWith(`| ${cell} `)) ?? '';
    return (row.match(/\d+,\d{3}/g) ?? []).map((figure) => Number(figure.replace(',', '')));
  };
  const [, wholeInPerformance] = figuresOf(performance, 'TypeScript client, whole, minified bytes |');
  const ofGroups = figuresOf(performance, 'core and one group: server, canonical, execution |');

  // One more operation must leave the pages true, without an edit of them.
  test.each([
    ['the core in README', figuresOf(readme, 'the core, paging included')[0], core],
    ['the whole in README', figuresOf(readme, '`@svc-runtime/client`')[0], whole],
    ...['server', 'canonical', 'execution'].flatMap((group, at) => [
      [`${group} in README`, figuresOf(readme, `\`@svc-runtime/client/${group}\``)[0], alone(group)] as const,
      [`${group} in performance.md`, ofGroups[at], alone(group)] as const,
    ]),
    ['the core in performance.md', figuresOf(performance, 'core of the client, paging included |')[0], core],
    ['the whole in performance.md', wholeInPerformance, whole],
  ] as const)('has the size that a page says, to a twentieth: %s', async (_, said = 0, contents) => {
    const { bytes } = await bundled(contents);
    expect(Math.abs(said / bytes - 1), `the page says ${said}, measured ${bytes}`).toBeLessThan(0.05);
  });

  test('has the budgets that its pages say', () => {
    const [coreMax, wholeMax] = [CORE_MAX, WHOLE_MAX].map((bytes) => bytes.toLocaleString('en-US'));
    expect(readme).toContain(
      `The core has a budget of ${coreMax} bytes, and the whole client one of ${wholeMax}.`,
    );
    expect(performance).toMatch(new RegExp(`^\\| core of the client, .* \\| ${coreMax} \\|$`, 'm'));
    expect(performance).toMatch(new RegExp(`^\\| TypeScript client, whole, .* \\| ${wholeMax} \\|$`, 'm'));
  });
});
