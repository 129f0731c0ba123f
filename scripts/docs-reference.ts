import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { reference } from '../functions/groups/server/docs/reference.ts';

/**
 * `node scripts/docs-reference.ts` downloads the API reference of the page `/docs`, as
 * `functions/groups/server/docs/reference.ts` names it, and refuses bytes with another hash. To update it, change the
 * version there; this script then prints the new hashes.
 */
const root = resolve(import.meta.dirname, '..');
const { package: name, version, integrity, source, sha256, file } = reference;

const licence = `The API reference of the page /docs (${file}) is ${source} of ${name} ${version}, unchanged.

MIT License

Copyright (c) 2023-present Scalar

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.

It has code of these packages in it, under their own licences:
`;

const folder = mkdtempSync(join(tmpdir(), 'svc-docs-reference-'));
try {
  bring(folder);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function bring(into: string): void {
  execFileSync('npm', ['pack', '--silent', '--pack-destination', into, `${name}@${version}`], { cwd: into });
  const [packed] = readdirSync(into);
  if (packed === undefined) throw new Error('npm has packed nothing');
  const found = `sha512-${createHash('sha512')
    .update(readFileSync(join(into, packed)))
    .digest('base64')}`;
  const members = [`package/${source}`, `package/${source}.map`];
  execFileSync('tar', ['-xzf', packed, ...members], { cwd: into });
  const [script = '', map = ''] = members.map((member) => join(into, member));
  const text = readFileSync(script);
  const hash = createHash('sha256').update(text).digest('hex');
  if (found !== integrity || hash !== sha256) {
    console.error(
      `${name} ${version} differs from the recorded hashes:\n  integrity ${found}\n  sha256 ${hash}`,
    );
    process.exitCode = 1;
    return;
  }
  writeFileSync(join(root, 'functions/docs', file), gzipSync(text, { level: 9 }));
  writeFileSync(join(root, 'functions/docs/NOTICE.txt'), `${licence}\n${packagesIn(map).join('\n')}\n`);
}

/** The packages whose modules are in the file, read from its source map. */
function packagesIn(map: string): string[] {
  const { sources } = JSON.parse(readFileSync(map, 'utf8')) as { sources: string[] };
  // Foreign packages are in `.pnpm/@scope+name@version_…`, the workspace's own in `../../../name`.
  const names = sources.flatMap((path) => {
    const [, scope = '', bare, at] = /\/\.pnpm\/(?:(@[^+/]+)\+)?([^@/]+)@([^_(/]+)/.exec(path) ?? [];
    if (bare !== undefined) return [`${scope === '' ? '' : `${scope}/`}${bare} ${at}`];
    const [, own] = /^(?:\.\.\/){3}([a-z-]+)\//.exec(path) ?? [];
    return own === undefined ? [] : [`@scalar/${own}`];
  });
  return [...new Set(names)].sort();
}
