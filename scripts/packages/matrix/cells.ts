import { join } from 'node:path';
import { toolsPython } from '../../../sdk/python/tools.ts';
import { projectPackage } from '../../build/project.ts';
import { requireTools, toolPath } from '../../tools.ts';
import { type Cell, reasonOf, same } from './cell.ts';
import { Place } from './place.ts';
import { javascript, printedByJavascript, python, required, typedPython, typescript } from './programs.ts';
import { pythons } from './pythons.ts';
import {
  buildTools,
  compilerOf,
  compilers,
  copyNodeTypes,
  environmentWith,
  nodeOf,
  nodes,
} from './runtimes.ts';
import { starterCells } from './starter-cells.ts';

const SERVER_NODE_MIN = 24;

function clientCell([name, version]: readonly [string, string]): Cell {
  return {
    id: `client-${name}`,
    missing: () => reasonOf(nodeOf(version)),
    async run({ client, dispatcher }, server) {
      const node = await nodeOf(version);
      await using place = await Place.with([client, dispatcher]);
      await place.write('program.js', javascript);
      await place.write('required.cjs', required);
      const env = { SVC_BASE_URL: server, NODE_NO_WARNINGS: '1' };
      same(await place.output(node, ['program.js', `node-${name}`], env), printedByJavascript);
      same(await place.output(node, ['required.cjs'], env), ['ok']);
      return `Node ${version}: commits, a run, a delivered event; import and require`;
    },
  };
}

function serverCell([name, version]: readonly [string, string]): Cell {
  return {
    id: `server-${name}`,
    missing: () => reasonOf(nodeOf(version)),
    async run({ server }) {
      const node = await nodeOf(version);
      await using place = await Place.with([server]);
      const program = join(place.folder, 'node_modules/@svc-runtime/server/bin/svc-server');
      if (Number.parseInt(version, 10) < SERVER_NODE_MIN) {
        const { code, stdout, stderr } = await place.outcome(node, [program]);
        const line = `svc-server needs Node 24 or later; this is Node ${version}.`;
        if (code !== 1 || stdout !== '')
          throw new Error(`it ended with ${String(code)} and printed ${stdout}`);
        same(stderr, [line]);
        return line;
      }
      const served = await place.serve(node);
      const { url } = served;
      const health = (await (await fetch(`${url}/health`)).json()) as { readonly version: string };
      same(health.version, [projectPackage().version]);
      if ((await served.stop()) !== 0) throw new Error('it did not end with 0 after SIGTERM');
      // npx chooses the command that is named like the package.
      const path = `${join(node, '..')}:${process.env['PATH'] ?? ''}`;
      for (const [words, printed] of [
        [['--offline', '@svc-runtime/server', '--version'], health.version],
        [['--no-install', 'svc', '--version'], health.version],
      ] as const)
        same(await place.output('npx', words, { PATH: path }), [printed]);
      return `Node ${version}: serves, stops, npx finds both commands`;
    },
  };
}

function typesCell([name, version]: readonly [string, string]): Cell {
  return {
    id: `types-${name}`,
    missing: () => reasonOf(compilerOf(version)),
    async run({ client, dispatcher, server }) {
      const compiler = await compilerOf(version);
      await using place = await Place.with([client, dispatcher, server]);
      await copyNodeTypes(place.folder);
      await place.write('program.ts', typescript);
      for (const [module, moduleResolution] of [
        ['nodenext', 'nodenext'],
        ['esnext', 'bundler'],
      ]) {
        const strict = { strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false };
        const lib = ['es2022', 'dom', 'dom.iterable', 'dom.asynciterable'];
        const compilerOptions = {
          module,
          moduleResolution,
          lib,
          ...strict,
          target: 'es2022',
          noEmit: true,
          types: ['node'],
        };
        await place.write('tsconfig.json', JSON.stringify({ compilerOptions, files: ['program.ts'] }));
        await place.output(process.execPath, [join(compiler, 'bin/tsc'), '-p', '.']);
      }
      return `TypeScript ${version}: nodenext and bundler, strict, with the declarations checked`;
    },
  };
}

function wheelCell({ version, program }: { readonly version: string; readonly program: string }): Cell {
  return {
    id: `wheel-${version}`,
    missing: () => reasonOf(buildTools()),
    async run({ python: wheel }, server) {
      await using place = await Place.with([]);
      const own = await environmentWith(place, program, [wheel]);
      const words = ['-I', '-W', 'error', '-c', python, `python-${version}`];
      const printed = await place.output(own, words, { SVC_BASE_URL: server });
      same(printed, ['replayed false', 'replayed true', projectPackage().version]);
      return `Python ${version}: commits, in an environment with nothing else`;
    },
  };
}

/** mypy and pyright, as strict as they are, over the installed wheel. */
const wheelTypes: Cell = {
  id: 'wheel-types',
  missing: () => reasonOf(toolsPython()),
  async run({ python: wheel }) {
    await using place = await Place.with([]);
    const tools = await toolsPython();
    const own = await environmentWith(place, tools, [wheel]);
    await place.write('program.py', typedPython);
    const strict = [
      '--strict',
      '--warn-unused-ignores',
      '--config-file=',
      '--cache-dir=.mypy',
      `--python-executable=${own}`,
    ];
    await place.output(tools, ['-m', 'mypy', ...strict, 'program.py']);
    const settings = { include: ['program.py'], typeCheckingMode: 'strict', enableTypeIgnoreComments: false };
    const unnecessary = { reportUnnecessaryTypeIgnoreComment: 'error' };
    await place.write('pyrightconfig.json', JSON.stringify({ ...settings, ...unnecessary }));
    requireTools();
    const pyright = toolPath('pyright/index.js');
    await place.output(process.execPath, [pyright, '--project', '.', `--pythonpath=${own}`]);
    return 'mypy and pyright, strict';
  },
};

/** The cells of each change: the oldest and the tested Node, the newest compiler, a first application. The nightly run has all. */
export const shareOfMatrix = [
  'client-20.19',
  'client-24',
  'server-20.19',
  'server-24',
  'types-7',
  'starter-24',
];

/** All cells of this machine: the wheel runs on every Python that it has. */
export async function cells(): Promise<readonly Cell[]> {
  return [
    ...nodes.map(clientCell),
    ...nodes.map(serverCell),
    ...compilers.map(typesCell),
    ...(await pythons()).map(wheelCell),
    wheelTypes,
    ...starterCells,
  ];
}
