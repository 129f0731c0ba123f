import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Plugin } from 'esbuild';
import { root } from './project.ts';

/** Reduces the project's package.json to the members that a bundle reads. */
export function onlyMembers(members: object): Plugin {
  return {
    name: 'only-members',
    setup(bundle) {
      bundle.onLoad({ filter: /package\.json$/ }, ({ path }) => {
        if (path !== join(root, 'package.json')) return undefined;
        return { contents: JSON.stringify(members), loader: 'json' };
      });
    },
  };
}

/**
 * The client of Cloud Tasks reads its descriptions from computed paths, which do not exist in a bundle. This plugin
 * replaces them with literal imports. A client version with different code fails the build.
 */
export const literalTaskFiles: Plugin = {
  name: 'literal-task-files',
  setup(bundle) {
    const filter = /@google-cloud[\\/]tasks[\\/]build[\\/](?:cjs|esm)[\\/]src[\\/].*_client\.c?js$/;
    bundle.onLoad({ filter }, ({ path }) => {
      const folder = dirname(path);
      const { version } = JSON.parse(readFileSync(resolve(folder, '../../../../package.json'), 'utf8')) as {
        readonly version: string;
      };
      const read = (file: string) => `require(${JSON.stringify(resolve(folder, file))})`;
      let contents = readFileSync(path, 'utf8');
      for (const [pattern, value] of [
        [/\b(const|var) gapicConfig = [^;]+;/, read('cloud_tasks_client_config.json')],
        [/\b(const|var) jsonProtos = [^;]+;/, read('../../../protos/protos.json')],
        [/\b(const|var) version = [^;]+;/, JSON.stringify(version)],
      ] as const) {
        if (!pattern.test(contents)) throw new Error(`${path} differs from the expected code`);
        contents = contents.replace(pattern, (whole) => `${whole.split('=', 1).join('')}= ${value};`);
      }
      contents = contents.replace(/const dirname = path\.dirname\(fileURLToPath\(import\.meta\.url\)\);/, '');
      return { contents, loader: 'js', resolveDir: folder };
    });
    // The literal imports above replace this loader.
    bundle.onLoad({ filter: /@google-cloud[\\/]tasks[\\/]build[\\/].*json-helper\.cjs$/ }, () => ({
      contents: 'module.exports = { getJSON: undefined };',
      loader: 'js',
    }));
  },
};

/** Modules of clients that the service does not use, and the packages that import them. */
const leftOut: readonly (readonly [importer: RegExp, path: RegExp])[] = [
  // The beta versions of the API.
  [/@google-cloud[\\/]tasks/, /v2beta[23]/],
  // Classes of messages for callers that build them by hand. The clients themselves read descriptions.
  [/@google-cloud[\\/]tasks[\\/].*index\.js$/, /\/protos\/protos(?:\.js)?$/],
  [/google-gax[\\/]build[\\/]src[\\/](?:index|fallback)\.js$/, /\/protos\/(?:iam_service|locations)$/],
];

/** Puts an empty module in place of each, so that a start does not read it. */
export const withoutUnused: Plugin = {
  name: 'without-unused',
  setup(bundle) {
    bundle.onResolve({ filter: /v2beta[23]|\/protos\// }, ({ path, importer }) =>
      leftOut.some(([by, what]) => by.test(importer) && what.test(path))
        ? { path, namespace: 'left-out' }
        : undefined,
    );
    bundle.onLoad({ filter: /.*/, namespace: 'left-out' }, () => ({ contents: 'export {}', loader: 'js' }));
  },
};
