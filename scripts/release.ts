/**
 * Writes what a release promises into `contracts/releases/<version>/`: the OpenAPI document, the operation catalog, the
 * error codes, the limits, the wire vectors and the fixtures of the SDKs. Later changes are held against it
 * (`test/release.test.ts`).
 *
 *     npm run release
 *
 * A release never changes: where its tag exists, or no clone can tell, and a file says otherwise, the version has to be
 * raised. Until then the folder is written anew.
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
if (changed.length > 0 && !isUntagged(`v${version}`)) {
  for (const { path } of changed)
    console.error(`${path} is released and says otherwise: raise the version in package.json`);
  process.exit(1);
}
rmSync(folder, { recursive: true, force: true });
for (const { path, text } of fixtures) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
console.log(`${folder} holds release ${version}; tag it v${version}`);

/** Whether this clone has all tags, and not this one. */
function isUntagged(tag: string): boolean {
  if (git('rev-parse', '--is-shallow-repository').stdout?.trim() !== 'false') return false;
  const { status, stdout } = git('tag', '--list', tag);
  return status === 0 && stdout.trim() === '';
}

function git(...args: readonly string[]) {
  return spawnSync('git', args, { encoding: 'utf8' });
}
