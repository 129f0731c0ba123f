import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { wireVectors } from './wire-vectors.ts';

/**
 * The files that a release keeps, by their place below `contracts/releases/<version>/`, and the source of each; the tables
 * of `sdk/`, against which every SDK is tested, come in addition.
 */
const kept: Readonly<Record<string, string>> = {
  'openapi.json': 'contracts/generated/openapi/svc.json',
  'catalog.json': 'contracts/public-sdk-surface.json',
  'errors.json': 'contracts/errors.json',
  'limits.json': 'contracts/limits.json',
  'sdk/requests.json': 'sdk/wire/requests.json',
  'sdk/scenario.json': 'sdk/scenario/scenario.json',
  'sdk/transcript.json': 'sdk/scenario/transcript.json',
  'sdk/typescript-surface.txt': 'sdk/typescript/surface.txt',
  'sdk/python-surface.txt': 'sdk/python/surface.txt',
};

export interface ReleaseFixture {
  /** Below the folder of the release. */
  readonly name: string;
  /** The path of the file that it copies. */
  readonly source: string;
  readonly text: string;
}

/** The fixtures that the project below `root` would be released with. */
export function releaseFixtures(root: string): readonly ReleaseFixture[] {
  const tables = readdirSync(join(root, 'sdk')).filter((name) => name.endsWith('.json'));
  const sources = [...Object.entries(kept), ...tables.map((name) => [`sdk/${name}`, `sdk/${name}`] as const)];
  const copies = sources.map(([name, source]) => ({
    name,
    source,
    text: readFileSync(join(root, source), 'utf8'),
  }));
  const wire = { name: 'wire.json', source: 'what the code writes', text: jsonText(wireVectors()) };
  return [...copies, wire];
}

function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
