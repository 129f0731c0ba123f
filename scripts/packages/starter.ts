import { existsSync } from 'node:fs';
import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../build/project.ts';
import { commonKeywords, registryMembers } from './metadata.ts';
import { copyCommonFiles, packFolder, writeManifest } from './npm-archive.ts';

const source = 'create-svc-app';

/** Whether the project has the starter. */
export function hasStarter(): boolean {
  return existsSync(join(root, source, 'package.json'));
}

/** Makes `create-svc-app`, whose folder is the package but for the members that all packages share. */
export async function makeStarter(work: string): Promise<string> {
  const folder = join(work, source);
  await cp(join(root, source), folder, { recursive: true, filter: isSource });
  await copyCommonFiles(folder);
  const text = await readFile(join(folder, 'package.json'), 'utf8');
  const { private: _, ...own } = JSON.parse(text) as {
    readonly private?: boolean;
    readonly name: string;
    readonly description: string;
  };
  const keywords = [...commonKeywords, 'create-app', 'starter'];
  const members = registryMembers({
    name: own.name,
    description: own.description,
    directory: source,
    keywords,
  });
  await writeManifest(folder, { ...own, ...members });
  return packFolder(folder, work);
}

function isSource(path: string): boolean {
  return !/(?:^|\/)(?:node_modules|dist)$|\.test\.ts$/.test(path);
}
