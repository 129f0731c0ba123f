import { execFile } from 'node:child_process';
import { basename } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../build/project.ts';
import { requireTools, toolPath } from '../tools.ts';

const run = promisify(execFile);

/** The programs that look at an archive as the tools of its users would, and their findings. No program imports a package of commands. */
export async function registryFaults(archive: string, isImported = true): Promise<string[]> {
  requireTools();
  const attw = ['--profile', 'esm-only', '--format', 'ascii', '--no-emoji', '--no-color'];
  const programs = [
    ['publint', ['run', archive, '--strict']],
    // A schema is no module, and has no types.
    ['attw', [archive, ...attw, '--exclude-entrypoints', './svcsettings.schema.json']],
  ] as const;
  const outcomes = programs
    .filter(([program]) => isImported || program !== 'attw')
    .map(async ([program, words]) => {
      try {
        await run(toolPath(`.bin/${program}`), words, { cwd: root, env: { ...process.env, NO_COLOR: '1' } });
        return [];
      } catch (error) {
        const { stdout, stderr, message } = error as Error & { stdout: string; stderr: string };
        return [`${program} of ${basename(archive)}: ${`${stdout}${stderr}`.trim() || message}`];
      }
    });
  return (await Promise.all(outcomes)).flat();
}
