import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import description from '../../package.json' with { type: 'json' };
import lock from '../../package-lock.json' with { type: 'json' };
import toolsLock from '../../tools/package-lock.json' with { type: 'json' };

/** `overrides` puts another package under some names, so code that loads one of them would get that package. */

interface Wants {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const root = resolve(import.meta.dirname, '../..');
const locked = [lock, toolsLock].flatMap(({ packages }) =>
  Object.entries(packages as Readonly<Record<string, Wants>>),
);

describe('the names that package.json gives to another package', () => {
  const replaced = Object.keys(description.overrides.recheck);

  test('are wanted by the checker of patterns alone', () => {
    const wanting = locked.filter(([, { dependencies, devDependencies, optionalDependencies }]) =>
      replaced.some((name) => name in { ...dependencies, ...devDependencies, ...optionalDependencies }),
    );
    expect(wanting.map(([path]) => path)).toEqual(['node_modules/recheck']);
    const { stdout } = spawnSync('git', ['grep', '-lE', replaced.join('|'), '--', ':!*.md'], {
      cwd: root,
      encoding: 'utf8',
    });
    expect(stdout.trim().split('\n')).toEqual(['package-lock.json', 'package.json']);
  });

  test('are loaded by no check of a pattern', () => {
    const temporary = mkdtempSync(join(tmpdir(), 'svc-replaced-'));
    onTestFinished(() => rmSync(temporary, { recursive: true, force: true }));
    // Preloaded, so that the threads of the checker print the names too.
    const hook = join(temporary, 'resolved.cjs');
    writeFileSync(
      hook,
      `const Module = require('node:module');
      const { _resolveFilename: resolve } = Module;
      Module._resolveFilename = function (name, ...more) {
        if (/^recheck-/.test(name)) require('node:fs').writeSync(1, name + '\\n');
        return resolve.call(this, name, ...more);
      };`,
    );
    const program = `import('./contracts/generate/linear-pattern.ts')
      .then(({ patternStatus }) => console.log(patternStatus('^(a|a)*$', '')));`;
    const { stdout, stderr } = spawnSync(process.execPath, ['-e', program], {
      cwd: root,
      encoding: 'utf8',
      env: { ...process.env, NODE_OPTIONS: `--require ${hook}` },
    });
    expect([stdout.trim(), stderr]).toEqual(['vulnerable', '']);
  });
});
