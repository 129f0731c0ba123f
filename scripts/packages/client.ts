import { copyFile, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../build/project.ts';
import { commonKeywords, registryMembers, SCOPE } from './metadata.ts';
import { compile, copyCommonFiles, copyPage, packFolder, writeManifest } from './npm-archive.ts';

const source = 'sdk/typescript';

const metadata = {
  name: `${SCOPE}/client`,
  directory: source,
  keywords: [...commonKeywords, 'client', 'sdk', 'worker', 'typescript'],
};

/**
 * Makes the archive of `@svc-runtime/client` in a folder that exists, and returns its path. Its `package.json` in the sources is
 * private, so that only this function makes a package of it.
 */
export async function makeClient(work: string): Promise<string> {
  const folder = join(work, 'client');
  await mkdir(folder, { recursive: true });
  await compile(['-p', source, '--outDir', join(folder, 'dist')]);
  await copyFile(join(root, source, 'api.md'), join(folder, 'api.md'));
  await copyPage(`${source}/README.md`, source, folder);
  await copyCommonFiles(folder);
  const text = await readFile(join(root, source, 'package.json'), 'utf8');
  const {
    private: _,
    files,
    ...own
  } = JSON.parse(text) as {
    readonly private: true;
    readonly description: string;
    readonly files: readonly string[];
  };
  const members = registryMembers({ ...metadata, description: own.description });
  await writeManifest(folder, { ...members, ...own, files: [...files, 'CHANGELOG.md'] });
  return packFolder(folder, work);
}
