import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** The project that is built. */
export const root = resolve(import.meta.dirname, '../..');

export interface ProjectPackage {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly homepage: string;
  readonly repository: { readonly type: string; readonly url: string };
  readonly bugs: { readonly url: string };
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

export function projectPackage(): ProjectPackage {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as ProjectPackage;
}
