import { execFile } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import client from '../sdk/typescript/package.json' with { type: 'json' };

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '..');
const files = globSync(['sdk/typescript/src/**/*.ts', 'dispatcher/*.ts'], { cwd: root })
  .filter((path) => !/\.(test|fixture)\.ts$/.test(path))
  .sort();

/**
 * Names that the types of Node 24 and of browsers know and Node 20.19 does not have. The compiler finds those of the
 * language itself: `lib` of `sdk/typescript` and `dispatcher` ends with ES2023.
 */
const newer: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['import.meta.dirname and filename (20.11)', /\bimport\.meta\.(?:dirname|filename)\b/],
  ['ReadableStream.from (20.6)', /\bReadableStream\.from\b/],
  ['using (24)', /^\s*(?:await )?using\s+\w/m],
  ['WebSocket and EventSource (22)', /\bnew (?:WebSocket|EventSource)\b/],
  ['navigator (21)', /\bnavigator\b/],
  ['body.bytes (22)', /\.bytes\(\)/],
  ['process.getBuiltinModule (20.16)', /\bgetBuiltinModule\b/],
  [
    'iterator helpers (22)',
    /\.(?:values|keys|entries)\(\)\s*\.(?:map|filter|take|drop|flatMap|toArray|some)\b/,
  ],
  ['Promise.withResolvers and Promise.try (22, 24)', /\bPromise\.(?:withResolvers|try)\b/],
  ['groupBy and fromAsync (21, 22)', /\b(?:Object|Map)\.groupBy\b|\bArray\.fromAsync\b/],
  ['URLPattern (24)', /\bURLPattern\b/],
  ['parts of Node', /'node:(?:sqlite|sea)'|\b(?:styleText|globSync|loadEnvFile|parseEnv)\b/],
];

function newerThanNode20(text: string): string[] {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1');
  return newer.filter(([, pattern]) => pattern.test(code)).map(([name]) => name);
}

describe('the published client and the dispatcher on Node 20', () => {
  test('the package of the client promises it', () => {
    expect(client.engines.node).toBe('>=20.19');
  });

  test('use no name that Node 20 lacks', () => {
    expect(files.length).toBeGreaterThan(60);
    const found = files.flatMap((path) =>
      newerThanNode20(readFileSync(join(root, path), 'utf8')).map((name) => `${path}: ${name}`),
    );
    expect(found).toEqual([]);
  });

  test.each([
    'const { promise } = Promise.withResolvers();',
    '  await using stage = open();',
    'ReadableStream.from(list)',
    'new Set(a).values().map(f)',
    'dirname(import.meta.filename)',
  ])('such a name is found: %s', (text) => {
    expect(newerThanNode20(text)).toHaveLength(1);
  });

  test.each(['sdk/typescript', 'dispatcher'])(
    'the compiler knows no later language than ES2023: %s',
    async (place) => {
      const folder = mkdtempSync(join(tmpdir(), 'oldest-'));
      const program =
        'export const a = Promise.withResolvers<void>();\nexport const b = new Set([1]).union(new Set());\n';
      writeFileSync(join(folder, 'late.mts'), program);
      const typeRoots = [join(root, 'node_modules/@types')];
      const config = {
        extends: join(root, place, 'tsconfig.json'),
        compilerOptions: { noEmit: true, rootDir: folder, typeRoots },
        include: [join(folder, 'late.mts')],
      };
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
      const tsc = join(root, 'node_modules/.bin/tsc');
      const failed = await run(tsc, ['-p', folder]).then(
        () => '',
        (error: { stdout: string }) => error.stdout,
      );
      rmSync(folder, { recursive: true, force: true });
      expect(failed.match(/error TS\d+/g)).toEqual(['error TS2550', 'error TS2550']);
    },
  );
});
