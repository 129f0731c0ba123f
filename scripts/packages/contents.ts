import { execFile } from 'node:child_process';
import { globSync, readFileSync, statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { projectPackage, root } from '../build/project.ts';
import { relativeLinks } from './readme.ts';

const run = promisify(execFile);

/** The files of an archive, and the faults in them. */
export interface Contents {
  readonly folder: string;
  /** Paths in the order of the alphabet. */
  readonly paths: readonly string[];
}

/** Unpacks an archive of npm or of Python. */
export async function unpack(archive: string, folder: string): Promise<Contents> {
  await mkdir(folder, { recursive: true });
  if (archive.endsWith('.whl')) await run('python3', ['-m', 'zipfile', '-e', archive, folder]);
  else await run('tar', ['-xzf', archive, '--strip-components=1', '-C', folder]);
  const paths = globSync('**', { cwd: folder, exclude: [] })
    .filter((path) => statSync(join(folder, path)).isFile())
    .map((path) => path.replaceAll('\\', '/'))
    .sort();
  return { folder, paths };
}

/**
 * The paths as the list of the package pins them: without versions and hashes, and one line for all chunks of the bundle and all
 * pages of the documentation, which change with every operation and need no decision.
 */
export function pinnedPaths(paths: readonly string[]): readonly string[] {
  const { version } = projectPackage();
  const folded = paths.map((path) =>
    path
      .replaceAll(version, '<version>')
      .replace(/^(lib\/code\/).*-[A-Z0-9]{8}(\.js(?:\.map|\.LEGAL\.txt)?)$/, '$1*$2')
      .replace(/^(lib\/code\/docs\/pages\/).*(\.md)$/, '$1**$2'),
  );
  return [...new Set(folded)].sort();
}

/** Files that no package may hold, and texts that no file may hold. */
export function contentFaults(archive: string, { folder, paths }: Contents): string[] {
  const name = basename(archive);
  // The templates of an application bring its tests.
  const tests = paths.filter(
    (path) =>
      /(?:^|\/)tests?\/|\.test\.|\.fixture\.|(?:^|\/)\.(?!gitignore$)/.test(path) &&
      !/(?:^|\/)templates\//.test(path),
  );
  const faults = tests.map((path) => `${name} holds ${path}`);
  for (const path of paths) {
    const text = readFileSync(join(folder, path), 'utf8');
    if (text.includes(root)) faults.push(`${name}: ${path} names the folder in which it was made`);
    if (path.endsWith('.map') && text.includes('"sourcesContent"'))
      faults.push(`${name}: ${path} holds the text of sources`);
    const isPage = path === 'README.md' || path === 'CHANGELOG.md';
    if (isPage)
      faults.push(
        ...relativeLinks(text).map((target) => `${name}: ${path} links to ${target}, which leads nowhere`),
      );
  }
  const wanted = archive.endsWith('.whl') ? [] : ['README.md', 'CHANGELOG.md', 'LICENSE'];
  faults.push(...wanted.filter((path) => !paths.includes(path)).map((path) => `${name} lacks ${path}`));
  return faults;
}
