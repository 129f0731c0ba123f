import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { matchesGlob } from 'node:path';
import type { Json } from '../contracts/generate/schema.ts';
import { changedBeyondTexts } from '../contracts/generate/texts.ts';

/** The composed catalog, and every other file of the contract that has texts. */
const FILES = [
  'contracts/public-sdk-surface.json',
  'contracts/catalog.schema.json',
  'contracts/errors.json',
  'contracts/limits.json',
  'contracts/schemas/*.json',
  'contracts/generated/openapi/svc.json',
  'contracts/generated/schemas/svc-public.schema.json',
];

const git = (...parameters: readonly string[]): string =>
  execFileSync('git', parameters, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });

function contractOf(paths: readonly string[], read: (path: string) => string): Map<string, Json> {
  return new Map(paths.map((path) => [path, JSON.parse(read(path)) as Json]));
}

function main([ref = 'main']: readonly string[]): void {
  const then = git('ls-tree', '-r', '--name-only', ref, 'contracts')
    .split('\n')
    .filter((path) => FILES.some((pattern) => matchesGlob(path, pattern)));
  const changed = changedBeyondTexts(
    contractOf(then, (path) => git('show', `${ref}:${path}`)),
    contractOf(globSync(FILES), (path) => readFileSync(path, 'utf8')),
  );
  for (const path of changed) console.log(`${path} differs from ${ref} in more than texts`);
  if (changed.length === 0) console.log(`The contract differs from ${ref} in texts alone, or not at all`);
  process.exitCode = changed.length === 0 ? 0 : 1;
}

main(process.argv.slice(2));
