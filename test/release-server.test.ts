import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { bundleServer, frozenServerVersion, readFrozenServer, SERVERS } from '../scripts/release-server.ts';
import { frozenVersions } from '../scripts/release-state.ts';

const BYTES_MAX = 1_000_000;
const version = frozenServerVersion('.');
const file = join(SERVERS, `${version}.json.br`);

test('the server of the last release is kept, small and whole', () => {
  expect(version).toBe(frozenVersions('.').at(-1));
  expect(Object.keys(readFrozenServer('.'))).toEqual(expect.arrayContaining(['server.mjs', 'functions.mjs']));
  expect(statSync(file).size).toBeLessThan(BYTES_MAX);
});

test('the server of this checkout can be frozen', async () => {
  expect(Object.keys(await bundleServer('.'))).toEqual(
    expect.arrayContaining(['server.mjs', 'functions.mjs']),
  );
});

test('a server that differs from the released one is refused', () => {
  const copy = mkdtempSync(join(tmpdir(), 'svc-server-'));
  cpSync(SERVERS, join(copy, SERVERS), { recursive: true });
  const text = brotliDecompressSync(readFileSync(file)).toString();
  writeFileSync(join(copy, file), brotliCompressSync(text.replace('"server.mjs"', '"other.mjs"')));
  expect(() => readFrozenServer(copy)).toThrow(`the server of ${version} differs from the released one`);
  rmSync(copy, { recursive: true });
});
