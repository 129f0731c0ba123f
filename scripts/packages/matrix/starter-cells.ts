import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Archives, type Cell, reasonOf, same } from './cell.ts';
import { Place } from './place.ts';
import { buildTools, compilerOf, copyNodeTypes, environmentWith, nodeOf, nodes } from './runtimes.ts';

/** The packed `create-svc-app` makes an application of the other packed files, and its user follows the README. */

const [[oldest, oldestVersion], , ...later] = nodes;
/** A version that the manifest of an application allows. */
const COMPILER = '5.9.3';

/** Makes an application in the folder `app`, by the command that npm would run. */
async function madeApp(place: Place, node: string, { server }: Archives, language: string): Promise<Place> {
  const env = { PATH: `${dirname(node)}:${process.env['PATH'] ?? ''}` };
  const words = ['--no-install', 'create-svc-app', 'app', '--from', dirname(server), '--language', language];
  await place.output('npx', words, env);
  return place.within('app');
}

/** Installs the packed files. The compiler and the types of Node of the manifest are those of the registry, so they stay out. */
async function install(app: Place): Promise<void> {
  const manifest = JSON.parse(await readFile(join(app.folder, 'package.json'), 'utf8')) as {
    readonly devDependencies: Readonly<Record<string, string>>;
  };
  const { typescript: _, '@types/node': __, ...own } = manifest.devDependencies;
  await app.write('package.json', JSON.stringify({ ...manifest, devDependencies: own }));
  await app.output('npm', ['install', '--offline', '--no-audit', '--no-fund', '--loglevel=error']);
  await copyNodeTypes(app.folder);
}

function typescriptCell([name, version]: readonly [string, string]): Cell {
  return {
    id: `starter-${name}`,
    missing: () => reasonOf(Promise.all([nodeOf(version), compilerOf(COMPILER)])),
    async run(archives) {
      const node = await nodeOf(version);
      await using place = await Place.with([archives.starter]);
      const app = await madeApp(place, node, archives, 'typescript');
      await install(app);
      await app.output(process.execPath, [join(await compilerOf(COMPILER), 'bin/tsc')]);
      const printed = await app.output(node, ['--test', '--test-reporter=tap']);
      same(/^# (?:pass|fail) \d+$/gm.exec(printed)?.[0] ?? printed, ['# pass 2']);
      return `Node ${version}: an application, type-checked; its tests pass, a run on svc-server dev among them`;
    },
  };
}

/** The starter runs where the application does not: it needs no later Node than the client. */
const oldestCell: Cell = {
  id: `starter-${oldest}`,
  missing: () => reasonOf(nodeOf(oldestVersion)),
  async run(archives) {
    await using place = await Place.with([archives.starter]);
    const app = await madeApp(place, await nodeOf(oldestVersion), archives, 'typescript');
    const { name } = JSON.parse(await readFile(join(app.folder, 'package.json'), 'utf8')) as { name: string };
    same(name, ['app']);
    return `Node ${oldestVersion}: makes an application`;
  },
};

const pythonCell: Cell = {
  id: 'starter-python',
  missing: () => reasonOf(buildTools()),
  async run(archives) {
    await using place = await Place.with([archives.starter]);
    const app = await madeApp(place, process.execPath, archives, 'python');
    const own = await environmentWith(app, await buildTools(), ['-r', 'requirements.txt']);
    await using service = await Place.with([archives.server]);
    const served = await service.serve(process.execPath, ['dev', '--port', '0']);
    try {
      const { code, stderr } = await app.outcome(own, ['-m', 'unittest'], { SVC_BASE_URL: served.url });
      if (code !== 0 || !/^Ran 3 tests[^]*^OK$/m.test(stderr)) throw new Error(stderr);
    } finally {
      await served.stop();
    }
    return 'an application; its tests pass, a run on svc-server dev among them';
  },
};

export const starterCells: readonly Cell[] = [oldestCell, ...later.map(typescriptCell), pythonCell];
