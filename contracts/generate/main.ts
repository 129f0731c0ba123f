/**
 * `node contracts/generate/main.ts` writes every file that is generated from the contract. With `--check` it changes
 * nothing and fails if a file differs.
 */
import { resolve } from 'node:path';
import { drift, write } from './disk.ts';
import { ContractFaults, generate } from './outputs.ts';
import { readSource } from './source.ts';

const root = resolve(import.meta.dirname, '../..');

try {
  const outputs = await generate(readSource(root), root);
  if (process.argv.includes('--check')) {
    const paths = drift(root, outputs);
    for (const path of paths) console.error(`${path} differs from the output of npm run generate`);
    process.exitCode = paths.length === 0 ? 0 : 1;
  } else {
    for (const path of write(root, outputs)) console.log(path);
  }
} catch (error) {
  if (!(error instanceof ContractFaults)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
