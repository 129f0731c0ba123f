import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { STUB_MARK } from './unfinished.ts';

const PLACES = [
  'contracts/operations',
  'contracts/schemas',
  'contracts/catalog.json',
  'contracts/shared.json',
  'functions',
  'test',
  'sdk/scenario',
  'CHANGELOG.md',
];

/** Every stub that is left, as `path:line: task`. */
export function unfinishedStubs(root: string): readonly string[] {
  return PLACES.flatMap((place) => filesOf(root, place)).flatMap((path) =>
    readFileSync(join(root, path), 'utf8')
      .split('\n')
      .flatMap((line, at) => {
        const task = new RegExp(`${STUB_MARK}: ([^"'\`]*)`).exec(line)?.[1];
        return task === undefined ? [] : [`${path}:${at + 1}: ${task}`];
      }),
  );
}

function filesOf(root: string, place: string): readonly string[] {
  if (/\.\w+$/.test(place)) return [place];
  return readdirSync(join(root, place), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(?:ts|json|md)$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((path) => !path.includes('/generated/'));
}
