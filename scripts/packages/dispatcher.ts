import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { commonKeywords, registryMembers, SCOPE } from './metadata.ts';
import { compile, copyCommonFiles, copyPage, packFolder, writeManifest } from './npm-archive.ts';

const metadata = {
  name: `${SCOPE}/dispatcher`,
  description: 'Delivers the outbox events of svc to handlers, at least once each',
  directory: 'dispatcher',
  keywords: [...commonKeywords, 'dispatcher', 'event-delivery', 'at-least-once'],
};

/** Makes `@svc-runtime/dispatcher` of the folder `dispatcher/`, which imports nothing but Node. */
export async function makeDispatcher(work: string): Promise<string> {
  const folder = join(work, 'dispatcher');
  await mkdir(folder, { recursive: true });
  const emitted = ['--noEmit', 'false', '--declaration', '--rewriteRelativeImportExtensions'];
  await compile([
    '-p',
    'dispatcher',
    ...emitted,
    '--rootDir',
    'dispatcher',
    '--outDir',
    join(folder, 'dist'),
  ]);
  await copyPage('packages/dispatcher/README.md', 'packages/dispatcher', folder);
  await copyCommonFiles(folder);
  await writeManifest(folder, {
    ...registryMembers(metadata),
    type: 'module',
    sideEffects: false,
    engines: { node: '>=20.19' },
    exports: {
      '.': { types: './dist/index.d.ts', default: './dist/index.js' },
      './package.json': './package.json',
    },
    files: ['dist', 'CHANGELOG.md'],
  });
  return packFolder(folder, work);
}
