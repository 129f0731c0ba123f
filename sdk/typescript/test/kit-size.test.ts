import { resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { beforeAll, describe, expect, test } from 'vitest';

/** The size of handlers with steps in the bundle of a worker, minified. The worker beneath them is not counted. */

const KIT_MAX = 31_600;
const KIT_GZIP_MAX = 12_400;
const FILE_MAX = 2_500;

const src = resolve(import.meta.dirname, '../src');
let files: readonly (readonly [string, number])[] = [];
let gzipped = 0;

async function bundled(contents: string) {
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: src },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'node',
    metafile: true,
    write: false,
  });
  const [output] = Object.values(metafile.outputs);
  return { text: outputFiles[0]?.text ?? '', inputs: output?.inputs ?? {} };
}

beforeAll(async () => {
  const kit = await bundled("export * from './worker/index.ts';");
  const worker = await bundled("export * from './worker/worker.ts';");
  files = Object.entries(kit.inputs)
    .filter(([path]) => path.includes('/steps/'))
    .map(([path, { bytesInOutput }]) => [path.split('/').at(-1) ?? '', bytesInOutput] as const);
  gzipped = gzipSync(kit.text).length - gzipSync(worker.text).length;
});

describe('the kit', () => {
  test('has its budget', () => {
    const bytes = files.reduce((sum, [, own]) => sum + own, 0);
    expect(bytes, `${bytes} bytes, ${gzipped} with gzip`).toBeLessThanOrEqual(KIT_MAX);
    expect(gzipped).toBeLessThanOrEqual(KIT_GZIP_MAX);
  });

  test('has no file that is large', () => {
    expect(files.length).toBeGreaterThan(10);
    expect(files.filter(([, bytes]) => bytes > FILE_MAX)).toEqual([]);
  });
});
