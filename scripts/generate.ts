import { resolve } from 'node:path';
import { Command } from 'commander';
import { drift, type Generated, write } from '../contracts/generate/disk.ts';
import { ContractFaults } from '../contracts/generate/faults.ts';
import { FOLDERS, generate } from '../contracts/generate/outputs.ts';
import { type ContractSource, lintSource, readSource } from '../contracts/generate/source.ts';

type Generator = (root: string) => Promise<Generated>;

/** In this order. A module is loaded when its turn comes, because it may import files that an earlier generator writes. */
const generators: Readonly<Record<string, Generator>> = {
  contract: async (root) => ({ files: await generate(soundSource(root), root), folders: FOLDERS }),
  'sdk-surface': async () => (await import('./sdk-surface.ts')).generated(),
  settings: async () => (await import('./settings-reference.ts')).generated(),
  'firestore-indexes': async () => (await import('./firestore-indexes.ts')).generated(),
  routes: async (root) => (await import('./public-routes.ts')).generated(root),
  'vector-kernel': async (root) => (await import('./vector-kernel.ts')).generated(root),
  attacks: async (root) => (await import('./attack-table.ts')).generated(root),
  notes: async (root) => (await import('../test/notes/generate.ts')).generated(root),
  'mcp-pins': async (root) => (await import('./mcp-pins.ts')).generated(root),
};

interface Options {
  readonly check?: true;
  readonly only: string;
  readonly root: string;
}

await new Command('generate')
  .description('Writes every generated file.')
  .option('--check', 'changes nothing, and fails if a file differs')
  .option('--only <names>', 'the generators to run, joined by commas', Object.keys(generators).join())
  .option('--root <folder>', 'the project', resolve(import.meta.dirname, '..'))
  .action(async ({ only, ...options }: Options) => {
    try {
      for (const name of only.split(',')) await run(name, options);
    } catch (error) {
      if (!(error instanceof ContractFaults)) throw error;
      fail(error.message);
    }
  })
  .parseAsync();

function soundSource(root: string): ContractSource {
  const faults = lintSource(root);
  if (faults.length > 0) throw new ContractFaults(faults);
  return readSource(root);
}

async function run(name: string, { root, check }: Omit<Options, 'only'>): Promise<void> {
  const generator = generators[name];
  if (generator === undefined) throw new Error(`there is no generator ${name}`);
  const { files, folders = [], faults = [] } = await generator(root);
  if (check)
    for (const path of drift(root, files, folders))
      fail(`${path} differs from the output of npm run generate`);
  else for (const path of write(root, files, folders)) console.log(path);
  for (const fault of faults) fail(fault);
}

function fail(fault: string): void {
  console.error(fault);
  process.exitCode = 1;
}
