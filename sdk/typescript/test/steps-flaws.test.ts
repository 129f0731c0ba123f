import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { afterAll, expect, test } from 'vitest';
import { type Edit, FLAWS, type Flaw } from './steps-flaws.ts';

type Judges = typeof import('./steps-subjects.ts') & typeof import('./steps-branches.ts');

const folder = mkdtempSync(join(tmpdir(), 'steps-flaws-'));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The judges with a kit that has the edits. */
async function judgesWith(name: string, edits: readonly Edit[]): Promise<Judges> {
  const byFile = Map.groupBy(edits, ({ file }) => file);
  const planted = new Set<string>();
  const { outputFiles } = await build({
    stdin: {
      contents: `export * from './steps-subjects.ts'; export * from './steps-branches.ts';`,
      resolveDir: import.meta.dirname,
    },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    logLevel: 'silent',
    plugins: [
      {
        name: 'flaw',
        setup: (bundle) =>
          bundle.onLoad({ filter: /[\\/]worker[\\/]steps[\\/][\w-]+\.ts$/ }, ({ path }) => {
            const file = basename(path);
            const its = byFile.get(file);
            if (its === undefined) return undefined;
            planted.add(file);
            return { contents: its.reduce(edited, readFileSync(path, 'utf8')), loader: 'ts' };
          }),
      },
    ],
  });
  expect([...planted].toSorted()).toEqual([...byFile.keys()].toSorted());
  const path = join(folder, `${name}.mjs`);
  writeFileSync(path, outputFiles[0]?.text ?? '');
  return (await import(/* @vite-ignore */ pathToFileURL(path).href)) as Judges;
}

function edited(source: string, { file, from, to }: Edit): string {
  const parts = source.split(from);
  // A flaw that no longer fits would prove nothing.
  if (parts.length !== 2) throw new Error(`the flaw fits ${parts.length - 1} places of ${file}`);
  return parts.join(to);
}

/** The faults that crashes and interleavings find, until one is as the flaw says. */
async function faultsOf(judges: Judges, { judge, shows }: Flaw): Promise<string[]> {
  const { subjects, crashFault, kinds, seeds, branchFault } = judges;
  const branches = kinds.flatMap((kind) => seeds.map((seed) => () => branchFault(kind, seed)));
  const handlers = subjects.map((subject) => () => crashFault(subject));
  const faults: string[] = [];
  for (const search of judge === 'branches' ? branches : handlers) {
    faults.push((await search().catch(String)) ?? '');
    if (shows.test(faults.at(-1) ?? '')) break;
  }
  return faults;
}

test.each(Object.entries(FLAWS))('a planted bug is found: %s', async (name, flaw) => {
  const faults = await faultsOf(await judgesWith(name, flaw.edits), flaw);
  expect(faults.at(-1), faults.join('\n')).toMatch(flaw.shows);
});
