import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The oldest release that the SDK promises. */
const found = spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 10))'], {
  encoding: 'utf8',
});

/** Why tests in Python are left out of this run; `undefined` where there is one. A run that must be complete has it. */
export const pythonMissing =
  found.status === 0 || process.env.CI !== undefined ? undefined : '(skipped: no python3 from 3.10 on)';

/** The tools that build a wheel: the front end and the back end that `sdk/python/pyproject.toml` names. */
const BUILD_TOOLS = ['build>=1.2,<2', 'hatchling>=1.27,<2'];
const CACHE = 'node_modules/.cache/python-build';

/** A Python that can build packages. It is made once and kept; without a way to it, a run that must be complete fails. */
export async function buildPython(): Promise<{ readonly python: string } | { readonly missing: string }> {
  if (pythonMissing !== undefined) return { missing: pythonMissing };
  const python = resolve(CACHE, 'bin/python');
  if (await works(python)) return { python };
  mkdirSync(dirname(resolve(CACHE)), { recursive: true });
  const made = mkdtempSync(`${resolve(CACHE)}-`);
  try {
    await run('python3', ['-m', 'venv', made]);
    const install = ['-m', 'pip', 'install', '--quiet', '--retries', '0', ...BUILD_TOOLS];
    await run(join(made, 'bin/python'), install);
    // Another process may have made the same environment first, which serves as well.
    rmSync(resolve(CACHE), { recursive: true, force: true });
    renameSync(made, resolve(CACHE));
    return { python };
  } catch (error) {
    rmSync(made, { recursive: true, force: true });
    if (await works(python)) return { python };
    if (process.env.CI !== undefined) throw error;
    return { missing: 'python3 has no venv, or pip finds neither build nor hatchling' };
  }
}

function works(python: string): Promise<boolean> {
  return run(python, ['-c', 'import build, hatchling, pip']).then(
    () => true,
    () => false,
  );
}
