import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inflateRawSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { findRecentJava, launcherJar, releaseIn } from './launcher.ts';

/** The text of the only file of an archive. */
function onlyFile(archive: Buffer): string {
  const [nameBytes, bytes] = [archive.readUInt16LE(26), archive.readUInt32LE(18)];
  const start = 30 + nameBytes;
  return inflateRawSync(archive.subarray(start, start + bytes)).toString();
}

test('the launcher starts the emulator of the Google Cloud CLI, wherever it lies', () => {
  const folder = `/${'a folder with a very long name/'.repeat(5)}`;
  const manifest = onlyFile(launcherJar(`${folder}emulator.jar`));
  expect(manifest.split('\r\n').every((line) => Buffer.byteLength(line) <= 72)).toBe(true);
  const unfolded = manifest.replaceAll('\r\n ', '');
  expect(unfolded).toContain(`Class-Path: file://${folder.replaceAll(' ', '%20')}emulator.jar\r\n`);
  expect(unfolded).toMatch(/^Main-Class: com\.google\.\S+\.CloudFirestore\r$/m);
});

test.each([
  ['openjdk version "17.0.15" 2025-04-15', 17],
  ['openjdk version "25" 2025-09-16', 25],
  ['java version "1.8.0_402"', 8],
  ['command not found', undefined],
])('the release in %s', (text, release) => {
  expect(releaseIn(text)).toBe(release);
});

test('the first Java that is recent enough is taken', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-java-'));
  const java = (release: string) => {
    const path = join(folder, release);
    writeFileSync(path, `#!/bin/sh\necho 'openjdk version "${release}"' >&2\n`, { mode: 0o755 });
    return path;
  };
  const old = java('17.0.15');
  const recent = java('25.0.1');
  expect(findRecentJava([join(folder, 'missing'), old, recent, java('26')])).toBe(recent);
  expect(findRecentJava([old])).toBeUndefined();
  rmSync(folder, { recursive: true });
});
