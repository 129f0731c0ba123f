import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import description from '../../package.json' with { type: 'json' };
import { registryFaults } from '../../scripts/packages/checks.ts';
import { contentFaults, pinnedPaths, unpack } from '../../scripts/packages/contents.ts';
import { type ArchiveReport, makePackages } from '../../scripts/packages/make.ts';
import { cells, shareOfMatrix } from '../../scripts/packages/matrix/cells.ts';
import { archivesIn, type ServedPackages, servedPackages } from '../../scripts/packages/matrix/run.ts';
import { withAbsoluteLinks } from '../../scripts/packages/readme.ts';
import { recipes } from '../../scripts/packages/recipes.ts';
import { toolsMissing } from '../../scripts/tools.ts';
import { pythonMissing } from '../support/python.ts';
import { root } from './program.ts';

/** `npm run packages`: the packages of a release, made twice. */

const folder = mkdtempSync(join(tmpdir(), 'svc-packages-'));
const [first, second] = [join(folder, 'first'), join(folder, 'another place')];
const made = recipes.filter(({ kind }) => kind === 'npm' || pythonMissing === undefined);
const npm = made.filter(({ kind }) => kind === 'npm');
let reports: readonly ArchiveReport[];

beforeAll(async () => {
  if (toolsMissing !== undefined) return;
  reports = await makePackages(made, { outdir: first, accept: false, onMade: () => {} });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const archiveOf = (id: string) => join(first, reports.find((report) => report.id === id)?.file ?? '');

async function unpacked(id: string): Promise<string> {
  const place = join(folder, 'unpacked', id);
  return existsSync(place) ? place : (await unpack(archiveOf(id), place)).folder;
}

// publint and attw, which look at each package, are tools.
const withTools = describe.skipIf(toolsMissing !== undefined);
withTools('the packages of a release', () => {
  test('have no fault', () => {
    expect(reports.flatMap(({ faults }) => faults)).toEqual([]);
    expect(new Set(reports.map(({ id }) => id))).toEqual(new Set(made.map(({ id }) => id)));
  });

  test('have the same bytes in every folder, and so have their bills of materials', async () => {
    await makePackages(made, { outdir: second, accept: false, onMade: () => {} });
    // One alone leaves the files and sums of the others.
    const alone = made.filter(({ id }) => id === 'dispatcher');
    await makePackages(alone, { outdir: second, accept: false, onMade: () => {} });
    expect(readdirSync(second)).toEqual(readdirSync(first));
    for (const name of readdirSync(first))
      expect(readFileSync(join(second, name)).equals(readFileSync(join(first, name))), name).toBe(true);
  });

  test('have the sizes that the page on performance gives, within a twentieth', () => {
    const page = readFileSync(join(root, 'docs/performance.md'), 'utf8');
    const table = page.split('## Sizes of packages')[1]?.split('\n\n')[2] ?? '';
    const said = [...table.matchAll(/^\| `[^|]+ \| ([\d,]+) \|/gm)].map(([, kB = '']) =>
      Number(kB.replace(',', '')),
    );
    // The rows stand in the order of the recipes.
    for (const [at, { file, bytes }] of reports.entries()) {
      const given = said[at] ?? 0;
      expect(Math.abs(given - bytes / 1000), `${file}: ${given} kB, and ${bytes} bytes`).toBeLessThan(
        bytes / 20_000,
      );
    }
  });

  test.each(npm.map(({ id }) => id))('%s has what a registry shows', async (id) => {
    const text = readFileSync(join(await unpacked(id), 'package.json'), 'utf8');
    const manifest = JSON.parse(text) as Readonly<Record<string, unknown>>;
    expect(manifest).toMatchObject({
      name: expect.stringMatching(/^@svc-runtime\/[a-z]+$|^create-svc-app$/),
      version: description.version,
      description: expect.any(String),
      license: description.license,
      homepage: description.homepage,
      bugs: description.bugs,
      // A publication with provenance compares it with the repository of the workflow.
      repository: description.repository,
      publishConfig: { access: 'public', provenance: true },
      engines: { node: expect.stringMatching(/^>=2[04]/) },
    });
    for (const member of ['private', 'scripts', 'devDependencies'])
      expect(manifest).not.toHaveProperty(member);
  });

  test('lead their readers to files that exist', async () => {
    const home = description.repository.url.replace(/^git\+/, '').replace(/\.git$/, '');
    for (const { id } of npm) {
      const page = readFileSync(join(await unpacked(id), 'README.md'), 'utf8');
      const links = [...page.matchAll(/\]\((https:\/\/[^)\s#]+)/g)].map(([, link = '']) => link);
      const ours = links.filter((link) => link.startsWith(home));
      for (const link of ours) {
        expect(link.startsWith(`${home}/blob/v${description.version}/`), link).toBe(true);
        expect(existsSync(join(root, link.slice(`${home}/blob/v${description.version}/`.length))), link).toBe(
          true,
        );
      }
    }
  });

  test('bring a bill of what their archives hold of others', () => {
    const bill = (id: string) =>
      JSON.parse(readFileSync(archiveOf(id).replace(/\.tgz$/, '.cdx.json'), 'utf8')) as {
        readonly components: readonly {
          readonly purl: string;
          readonly hashes: readonly { content: string }[];
        }[];
      };
    const purls = bill('server').components.map(({ purl }) => purl);
    expect(purls).toEqual(
      expect.arrayContaining([
        `pkg:npm/pg@${description.dependencies.pg}`,
        expect.stringMatching(/^pkg:npm\/%40scalar\/api-reference@/),
      ]),
    );
    expect(purls.filter((purl) => /vitest|typescript|esbuild/.test(purl))).toEqual([]);
    expect(bill('server').components.every(({ hashes: [hash] }) => hash?.content.length === 128)).toBe(true);
    expect(bill('client').components).toEqual([]);
  });
});

withTools('the packed files in an empty folder', async () => {
  const chosen = (await cells()).filter(({ id }) => shareOfMatrix.includes(id));

  let served: ServedPackages;
  beforeAll(async () => {
    served = await servedPackages(await archivesIn(first));
  });
  afterAll(() => served[Symbol.asyncDispose]());

  test('are the share of the matrix', () => {
    expect(chosen.map(({ id }) => id)).toEqual(shareOfMatrix);
  });

  test.for(chosen)('work: $id', async (cell, { skip }) => {
    const missing = await cell.missing();
    // A run that must be complete has a registry.
    if (missing !== undefined && process.env.CI === undefined) skip(missing);
    expect(await cell.run(served.archives, served.url)).not.toBe('');
  });

  test('fail where the package does not do what it says', async ({ skip }) => {
    const cell = chosen.find(({ id }) => id === 'server-20.19');
    const missing = await cell?.missing();
    if (missing !== undefined && process.env.CI === undefined) skip(missing);
    const place = join(folder, 'planted/package');
    cpSync(await unpacked('server'), place, { recursive: true });
    const program = join(place, 'bin/svc-server');
    const text = readFileSync(program, 'utf8');
    writeFileSync(program, text.replace('needs Node 24', 'wants Node 24'));
    execFileSync('tar', ['-czf', join(folder, 'planted.tgz'), '-C', join(place, '..'), 'package']);
    const archives = { ...(await archivesIn(first)), server: join(folder, 'planted.tgz') };
    await expect(cell?.run(archives, '')).rejects.toThrow(
      /wants Node 24[^]*in the place of[^]*needs Node 24/,
    );
  });
});

describe('the checks of a package', () => {
  test('find a stray file, a file of the machine, a map with text, and a link that leads nowhere', async () => {
    const place = join(folder, 'faulty');
    mkdirSync(join(place, 'test'), { recursive: true });
    writeFileSync(join(place, 'test/a.js'), '');
    writeFileSync(join(place, 'b.js'), `const from = '${root}/b.ts';`);
    writeFileSync(join(place, 'b.js.map'), '{"sourcesContent":["a"]}');
    writeFileSync(join(place, 'README.md'), 'See [it](../docs/it.md).');
    const paths = ['README.md', 'b.js', 'b.js.map', 'test/a.js'];
    expect(contentFaults('a.tgz', { folder: place, paths })).toEqual([
      'a.tgz holds test/a.js',
      'a.tgz: README.md links to ../docs/it.md, which leads nowhere',
      'a.tgz: b.js names the folder in which it was made',
      'a.tgz: b.js.map holds the text of sources',
      'a.tgz lacks CHANGELOG.md',
      'a.tgz lacks LICENSE',
    ]);
  });

  test('fold versions, chunks and pages, and nothing else', () => {
    const paths = [
      'lib/code/chunk-6H5VO6UK.js',
      'lib/code/run-tool-6H5VO6UX.js.map',
      'lib/code/svc.js',
      'lib/code/docs/pages/guides/a.md',
      'lib/code/docs/pages/guides/a.txt',
      `a-${description.version}/METADATA`,
    ];
    expect(pinnedPaths(paths)).toEqual([
      'a-<version>/METADATA',
      'lib/code/*.js',
      'lib/code/*.js.map',
      'lib/code/docs/pages/**.md',
      'lib/code/docs/pages/guides/a.txt',
      'lib/code/svc.js',
    ]);
  });

  test('keep the sums of what was made where a later package cannot be made', async () => {
    const source = join(folder, 'sums/svc_runtime_client-1.0.0');
    mkdirSync(source, { recursive: true });
    writeFileSync(join(source, 'PKG-INFO'), 'Name: svc-runtime-client\n');
    const archive = `${source}.tar.gz`;
    execFileSync('tar', ['-czf', archive, '-C', join(source, '..'), 'svc_runtime_client-1.0.0']);
    const plain = { id: 'plain', kind: 'python', bytesMax: 10_000 } as const;
    const fails = () => Promise.reject(new Error('it cannot be made'));
    const outdir = join(folder, 'sums/made');
    const two = [
      { ...plain, make: () => Promise.resolve({ archives: [archive], bundled: [], faults: [] }) },
      { ...plain, make: fails },
    ];
    await expect(makePackages(two, { outdir, accept: false, onMade: () => {} })).rejects.toThrow(
      'it cannot be made',
    );
    const sum = createHash('sha256').update(readFileSync(archive)).digest('hex');
    expect(readFileSync(join(outdir, 'SHA256SUMS'), 'utf8')).toBe(`${sum}  ${basename(archive)}\n`);
  });

  test.each([{}, { CI: 'true' }])('name the packages that need no Python where there is none %j', (more) => {
    const outdir = join(folder, 'no python');
    mkdirSync(outdir, { recursive: true });
    // Neither a program nor an environment that an earlier run has made.
    const options = { cwd: outdir, env: { ...more, PATH: outdir } };
    const words = [join(root, 'scripts/packages.ts'), '--only', 'python', '--out', outdir];
    const { status, stderr } = spawnSync(process.execPath, words, { ...options, encoding: 'utf8' });
    const others = npm.map(({ id }) => id).join(',');
    expect({ status, lines: stderr.trim().split('\n') }).toEqual({
      status: 1,
      lines: [
        expect.stringMatching(
          new RegExp(
            `^svc-runtime-client is not made: it needs Python 3\\.10 or later with venv\\..* --only ${others} \\(`,
          ),
        ),
        'a fault',
      ],
    });
    expect(readFileSync(join(outdir, 'SHA256SUMS'), 'utf8')).toBe('');
  });

  test('make relative links absolute, outside of code', () => {
    const text = 'A [b](../b.md#c), a [d](#d), an [e](https://e.example).\n```ts\na[0](../f)\n```\n';
    const home = `https://github.com/svc-runtime/svc/blob/v${description.version}`;
    expect(withAbsoluteLinks(text, 'docs/guides')).toBe(text.replace('../b.md', `${home}/docs/b.md`));
  });
});

withTools('the checks of a package, with the tools', () => {
  test('find another list of files and an archive that is too large', async () => {
    const client = made.find(({ id }) => id === 'client');
    if (client === undefined) throw new Error('there is no recipe of the client');
    const other = { ...client, id: 'dispatcher', bytesMax: 10, make: (work: string) => client.make(work) };
    const [report] = await makePackages([other], {
      outdir: join(folder, 'other'),
      accept: false,
      onMade: () => {},
    });
    expect(report?.faults).toEqual([
      expect.stringMatching(/of 10 bytes$/),
      expect.stringMatching(
        /^packages\/dispatcher\/files\.txt names other files[^]*\+ api\.md[^]*- dist\/dispatcher\.js/,
      ),
    ]);
  });

  test('let publint and attw find types that are not there', async () => {
    const place = join(folder, 'broken/package');
    cpSync(await unpacked('dispatcher'), place, { recursive: true });
    const manifest = readFileSync(join(place, 'package.json'), 'utf8');
    writeFileSync(join(place, 'package.json'), manifest.replace('./dist/index.d.ts', './dist/none.d.ts'));
    const archive = join(folder, 'broken.tgz');
    execFileSync('tar', ['-czf', archive, '-C', join(place, '..'), 'package']);
    const faults = await registryFaults(archive);
    expect(faults).toEqual([
      expect.stringMatching(/^publint of broken\.tgz: [^]*none\.d\.ts/),
      expect.stringMatching(/^attw of broken\.tgz: /),
    ]);
  });
});
