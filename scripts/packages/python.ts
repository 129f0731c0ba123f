import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildPython } from '../../test/support/python.ts';
import { root } from '../build/project.ts';
import { withAbsoluteLinks } from './readme.ts';

const run = promisify(execFile);
const source = 'sdk/python';

/** The date of every file in both archives, in seconds: the one that npm gives to those of its packages. */
const SOURCE_DATE_EPOCH = '499162500';

/** Only this command makes a package of the sources, which no registry accepts with this line. */
const privateLines = /^ *#[^\n]*\n *"Private :: Do Not Upload",\n/m;

const NEEDS =
  'svc-runtime-client is not made: it needs Python 3.10 or later with venv. All others: npm run packages -- --only server,client,dispatcher,starter';

/** Makes the wheel and the source distribution of `svc-runtime-client`. */
export async function makePython(work: string): Promise<readonly string[]> {
  const tools = await buildPython().catch((error: unknown) => ({
    // A run that must be complete throws.
    missing: error instanceof Error ? error.message : String(error),
  }));
  if ('missing' in tools) throw new Error(`${NEEDS} (${tools.missing.replace(/^\(skipped: (.*)\)$/, '$1')})`);
  const folder = join(work, 'python');
  await mkdir(folder, { recursive: true });
  for (const path of ['src', 'api.md', 'LICENSE']) {
    await cp(join(root, source, path), join(folder, path), { recursive: true, filter: isSource });
  }
  const page = await readFile(join(root, source, 'README.md'), 'utf8');
  await writeFile(join(folder, 'README.md'), withAbsoluteLinks(page, source));
  const changes = await readFile(join(root, 'CHANGELOG.md'), 'utf8');
  await writeFile(join(folder, 'CHANGELOG.md'), withAbsoluteLinks(changes, '.'));
  const project = await readFile(join(root, source, 'pyproject.toml'), 'utf8');
  if (!privateLines.test(project)) throw new Error(`${source}/pyproject.toml is not marked as private`);
  await writeFile(join(folder, 'pyproject.toml'), project.replace(privateLines, ''));
  const outdir = join(work, 'python-made');
  await run(tools.python, ['-m', 'build', '--no-isolation', '--outdir', outdir, folder], {
    env: { ...process.env, SOURCE_DATE_EPOCH },
  });
  return (await readdir(outdir)).sort().map((name) => join(outdir, name));
}

function isSource(path: string): boolean {
  return !path.includes('__pycache__');
}
