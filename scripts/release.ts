/**
 * Writes what a release promises into `contracts/releases/<version>/`: the OpenAPI document, the operation catalog, the
 * error codes, the limits and the wire vectors. Later changes are held against it (`test/release.test.ts`).
 *
 *     npm run release
 *
 * A release never changes: where the folder exists and says otherwise, the version has to be raised.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { wireVectors } from './wire-vectors.ts';

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
const folder = join('contracts', 'releases', version);
const files: Readonly<Record<string, string>> = {
  'openapi.json': readFileSync('contracts/generated/openapi/svc.json', 'utf8'),
  'catalog.json': readFileSync('contracts/public-sdk-surface.json', 'utf8'),
  'errors.json': readFileSync('contracts/errors.json', 'utf8'),
  'limits.json': readFileSync('contracts/limits.json', 'utf8'),
  'wire.json': `${JSON.stringify(wireVectors(), null, 2)}\n`,
};
mkdirSync(folder, { recursive: true });
for (const [name, text] of Object.entries(files)) {
  const path = join(folder, name);
  if (existsSync(path) && readFileSync(path, 'utf8') !== text) {
    console.error(`${path} is released and says otherwise: raise the version in package.json`);
    process.exit(1);
  }
}
for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
console.log(`${folder} holds release ${version}; tag it v${version}`);
