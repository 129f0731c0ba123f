import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The oldest Node that the clients support. */
const MAJOR_MIN = 20;

/** The Node of the project, and the one of the machine where it is another major version that the clients support. */
export async function installedNodes(): Promise<(readonly [version: string, path: string])[]> {
  const own = [process.version, process.execPath] as const;
  const system = '/usr/bin/node';
  const version = await run(system, ['--version']).then(
    ({ stdout }) => stdout.trim(),
    () => 'v0',
  );
  const isOther = majorOf(version) >= MAJOR_MIN && majorOf(version) !== majorOf(process.version);
  return isOther ? [own, [version, system]] : [own];
}

function majorOf(version: string): number {
  return Number.parseInt(version.slice(1), 10);
}
