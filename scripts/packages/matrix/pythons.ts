import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const minors = [10, 11, 12, 13, 14];

export interface FoundPython {
  /** Such as `3.12`. */
  readonly version: string;
  readonly program: string;
}

/** The Pythons of this machine that the wheel supports, one for each minor version: on the PATH, and those of pyenv. */
export async function pythons(): Promise<readonly FoundPython[]> {
  const names = ['python3', ...minors.map((minor) => `python3.${minor}`)];
  const ofPyenv = globSync(join(homedir(), '.pyenv/versions/3.*/bin/python')).sort();
  const found = new Map<string, string>();
  for (const program of [...names, ...ofPyenv]) {
    const version = await versionOf(program);
    if (version !== undefined && !found.has(version)) found.set(version, program);
  }
  return [...found]
    .map(([version, program]) => ({ version, program }))
    .sort((one, other) => one.version.localeCompare(other.version));
}

async function versionOf(program: string): Promise<string | undefined> {
  const text = 'import sys, venv; print("%d.%d" % sys.version_info[:2])';
  const version = await run(program, ['-c', text]).then(
    ({ stdout }) => stdout.trim(),
    () => '',
  );
  return minors.some((minor) => version === `3.${minor}`) ? version : undefined;
}
