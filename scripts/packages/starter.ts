import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../build/project.ts';
import { commonKeywords, registryMembers } from './metadata.ts';
import { copyCommonFiles, copyPage, packFolder, writeManifest } from './npm-archive.ts';

const source = 'create-svc-app';

/**
 * Makes the archive of `create-svc-app` in a folder that exists, and returns its path. The folder of the sources is the package but for
 * the members and files that all packages share.
 */
export async function makeStarter(work: string): Promise<string> {
  const folder = join(work, source);
  await cp(join(root, source), folder, { recursive: true, filter: isSource });
  await copyPage(`${source}/README.md`, source, folder);
  await copyCommonFiles(folder);
  const text = await readFile(join(folder, 'package.json'), 'utf8');
  const {
    private: _,
    files,
    ...own
  } = JSON.parse(text) as {
    readonly private?: boolean;
    readonly name: string;
    readonly description: string;
    readonly files: readonly string[];
  };
  const { name, description } = own;
  const keywords = [...commonKeywords, 'create-app', 'starter'];
  const members = registryMembers({ name, description, directory: source, keywords });
  await writeManifest(folder, { ...own, ...members, files: [...files, 'CHANGELOG.md'] });
  return packFolder(folder, work);
}

function isSource(path: string): boolean {
  return !/(?:^|[/\\])node_modules$/.test(path);
}
