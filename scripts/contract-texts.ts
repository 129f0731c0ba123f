import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { matchesGlob } from 'node:path';
import type { Json } from '../contracts/generate/schema.ts';
import { differenceOf } from '../contracts/generate/texts.ts';

/**
 * The composed catalog, and every other file of the contract that has texts. `catalog.schema.json` describes the source of the
 * contract, and is left out.
 */
const FILES = [
  'contracts/public-sdk-surface.json',
  'contracts/errors.json',
  'contracts/limits.json',
  'contracts/schemas/*.json',
  'contracts/generated/mcp/definitions.json',
  'contracts/generated/openapi/svc.json',
  'contracts/generated/schemas/svc-public.schema.json',
];

const git = (...parameters: readonly string[]): string =>
  execFileSync('git', parameters, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });

function contractOf(paths: readonly string[], read: (path: string) => string): Map<string, Json> {
  return new Map(paths.map((path) => [path, JSON.parse(read(path)) as Json]));
}

/** Sets the exit code 0 if texts alone differ or nothing does, 1 if more differs, and 2 if nothing was compared. */
function main([ref = 'main']: readonly string[]): void {
  const paths = git('ls-tree', '-r', '--name-only', ref, 'contracts')
    .split('\n')
    .filter((path) => FILES.some((pattern) => matchesGlob(path, pattern)));
  const then = contractOf(paths, (path) => git('show', `${ref}:${path}`));
  const now = contractOf(globSync(FILES), (path) => readFileSync(path, 'utf8'));
  const difference = differenceOf(then, now);
  if (difference === 'none' && isHead(ref)) {
    console.error(
      `Nothing was compared: ${ref} is the current commit, and no file has changed since. Name an earlier one`,
    );
    process.exitCode = 2;
  } else if (difference === 'none') console.log(`The contract is that of ${ref}`);
  else if (difference === 'texts') console.log(`The contract differs from ${ref} in texts alone`);
  else {
    for (const path of difference) console.log(`${path} differs from ${ref} in more than texts`);
    process.exitCode = 1;
  }
}

function isHead(ref: string): boolean {
  return git('rev-parse', `${ref}^{commit}`) === git('rev-parse', 'HEAD');
}

main(process.argv.slice(2));
