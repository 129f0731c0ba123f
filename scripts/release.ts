/**
 * Writes what a release promises into `contracts/releases/<version>/`: the OpenAPI document, the operation catalog, the
 * error codes, the limits, the wire vectors and the fixtures of the SDKs. Later changes are held against it
 * (`test/release.test.ts`).
 *
 *     npm run release
 *
 * A release never changes: where its tag exists, or no clone can tell, and a file says otherwise, the version has to be
 * raised. Until then the folder is written anew. A clone that lacks the tags of other releases cannot tell.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { releaseFixtures } from './release-fixtures.ts';

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
const folder = join('contracts', 'releases', version);
const fixtures = releaseFixtures('.').map(({ name, text }) => ({ path: join(folder, name), text }));
const changed = existsSync(folder)
  ? fixtures.filter(({ path, text }) => !existsSync(path) || readFileSync(path, 'utf8') !== text)
  : [];
const why = changed.length === 0 ? null : refusal(version);
if (why !== null) {
  for (const { path } of changed) console.error(`${path} says otherwise: ${why}`);
  process.exit(1);
}
rmSync(folder, { recursive: true, force: true });
for (const { path, text } of fixtures) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
console.log(`${folder} holds release ${version}; tag it v${version}`);

/** Why what this release holds may not be written anew; `null` where it may. */
function refusal(release: string): string | null {
  const { status, stdout } = git('tag', '--list', 'v*');
  if (status !== 0)
    return 'this is no clone, which could tell whether it is released: raise the version in package.json';
  const tags = stdout.split('\n').filter((tag) => tag !== '');
  if (tags.includes(`v${release}`)) return 'it is released: raise the version in package.json';
  const missing = others(release).filter((other) => !tags.includes(`v${other}`));
  const isShallow = git('rev-parse', '--is-shallow-repository').stdout.trim() !== 'false';
  if (tags.length > 0 && missing.length === 0 && !isShallow) return null;
  const lacks = missing.length === 0 ? 'may lack tags' : `lacks the tags of ${missing.join(', ')}`;
  return `this clone ${lacks}, so it cannot tell whether ${release} is released: git fetch --tags${isShallow ? ' --unshallow' : ''}`;
}

/** The releases that the change log tells of, but this one. */
function others(release: string): readonly string[] {
  const headings = readFileSync('CHANGELOG.md', 'utf8').matchAll(/^## (\d+\.\d+\.\d+) \(/gm);
  return [...headings].map(([, name = '']) => name).filter((name) => name !== release);
}

function git(...args: readonly string[]) {
  return spawnSync('git', args, { encoding: 'utf8' });
}
