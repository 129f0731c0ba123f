import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { isNightly, seedShift } from '../../test/support/effort.ts';

const run = promisify(execFile);
const sdk = import.meta.dirname;
const cache = resolve(sdk, '../../node_modules/.cache/svc-python');

/** No suitable Python was found; the message lists every candidate. */
export class PythonNotFound extends Error {
  override readonly name = 'PythonNotFound';
}

/**
 * The interpreter of an environment with the packages of `requirements-dev.txt`, created once and reused. It is built
 * aside and renamed when complete, so that parallel runs may build it at once.
 */
export async function toolsPython(): Promise<string> {
  const { program, version } = await findPython();
  const requirements = join(sdk, 'requirements-dev.txt');
  const text = await readFile(requirements, 'utf8');
  const hash = createHash('sha256').update(`${version}\n${text}`).digest('hex').slice(0, 16);
  const place = join(cache, `tools-${hash}`);
  if (!existsSync(place)) {
    await mkdir(cache, { recursive: true });
    const aside = await mkdtemp(join(cache, 'making-'));
    try {
      await install(program, aside, requirements);
      await rename(aside, place).catch((error: unknown) => {
        // Another run was faster.
        if (!existsSync(place)) throw error;
      });
    } finally {
      await rm(aside, { recursive: true, force: true });
    }
  }
  return join(place, 'bin/python');
}

async function install(program: string, folder: string, requirements: string): Promise<void> {
  const python = join(folder, 'bin/python');
  // Retry an unreachable index only once: the packages may come from another source.
  const options = ['--quiet', '--disable-pip-version-check', '--retries', '1', '--only-binary', ':all:'];
  try {
    await run(program, ['-m', 'venv', folder]);
    await run(python, ['-m', 'pip', 'install', ...options, '-r', requirements], { timeout: 600_000 });
  } catch (error) {
    const { stderr = '', stdout = '', message } = error as Error & { stderr?: string; stdout?: string };
    const last = `${stderr}${stdout}`.trim().split('\n').slice(-3).join(' ');
    throw new PythonNotFound(`the tools of its tests cannot be installed: ${last || message}`);
  }
}

async function findPython(): Promise<{ readonly program: string; readonly version: string }> {
  const given = process.env['PYTHON'];
  const programs = given === undefined || given === '' ? ['python3', 'python'] : [given];
  for (const program of programs) {
    const version = await run(program, ['-c', 'import sys; print(*sys.version_info[:3], sep=".")']).then(
      ({ stdout }) => stdout.trim(),
      () => '',
    );
    const [major = 0, minor = 0] = version.split('.').map(Number);
    if (major === 3 && minor >= 10) return { program, version };
  }
  throw new PythonNotFound(
    `no Python 3.10 or later found. Looked for: PYTHON; ${programs.join(', ')} on the PATH. ` +
      'Install it with "apt install python3-venv".',
  );
}

/** Runs pytest, with the report of `tests/report.py`. By day `tests/conftest.py` fixes what Hypothesis draws; a night has its seed. */
export async function pytest(
  python: string,
  options: readonly string[],
  report: string,
): Promise<{ readonly code: number; readonly output: string }> {
  const env = { ...process.env, PYTEST_OUTCOMES: report, PYTHONDONTWRITEBYTECODE: '1' };
  const seed = isNightly ? [`--hypothesis-seed=${seedShift}`] : [];
  return run(python, ['-m', 'pytest', ...options, ...seed], {
    cwd: sdk,
    env,
    maxBuffer: 64 * 1024 * 1024,
  }).then(
    ({ stdout, stderr }) => ({ code: 0, output: `${stdout}${stderr}` }),
    (error: Error & { code?: number; stdout?: string; stderr?: string }) => ({
      code: typeof error.code === 'number' ? error.code : 1,
      output: `${error.stdout ?? ''}${error.stderr ?? ''}${error.message}`,
    }),
  );
}
