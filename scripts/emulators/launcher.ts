import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { zip } from '../build/zip.ts';

/** firebase-tools starts emulators with this release of Java or a later one. */
export const javaNeeded = 21;

const mainClass = 'com.google.cloud.datastore.emulator.firestore.CloudFirestore';
const lineBytesMax = 72;

/**
 * A jar that starts the emulator of the Google Cloud CLI. firebase-tools runs `java -jar`, and the manifest of that emulator
 * names no main class.
 */
export function launcherJar(emulator: string): Buffer {
  const lines = [
    'Manifest-Version: 1.0',
    `Main-Class: ${mainClass}`,
    `Class-Path: ${pathToFileURL(emulator).href}`,
  ];
  const manifest = lines.map((line) => `${folded(line)}\r\n`).join('');
  return zip(new Map([['META-INF/MANIFEST.MF', Buffer.from(`${manifest}\r\n`)]]));
}

/** A longer line continues on the next one, after a space that counts. */
function folded(line: string): string {
  const rest = line.slice(lineBytesMax).replaceAll(new RegExp(`.{1,${lineBytesMax - 1}}`, 'g'), '\r\n $&');
  return line.slice(0, lineBytesMax) + rest;
}

/** The path of the first Java that firebase-tools accepts. */
export function findRecentJava(candidates: readonly string[] = javaPlaces()): string | undefined {
  return candidates.find((java) => (releaseOf(java) ?? 0) >= javaNeeded);
}

/** The Java of `JAVA_HOME`, those in `PATH`, and those beside the default one of Debian. */
function javaPlaces(): string[] {
  const home = process.env['JAVA_HOME'];
  return [...(home ? [join(home, 'bin/java')] : []), ...inPath('java'), ...besideDefault()];
}

function inPath(program: string): string[] {
  const folders = (process.env['PATH'] ?? '').split(':').filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, program));
}

function besideDefault(): string[] {
  const folder = '/usr/lib/jvm';
  try {
    return readdirSync(folder).map((name) => join(folder, name, 'bin/java'));
  } catch {
    return [];
  }
}

/** The first number of the version; `undefined` where there is no Java. */
function releaseOf(java: string): number | undefined {
  const { status, stderr } = spawnSync(java, ['-version'], { encoding: 'utf8' });
  if (status !== 0) return undefined;
  return releaseIn(stderr);
}

/**
 * Java 8 and earlier call themselves 1.8.
 * @testonly
 */
export function releaseIn(text: string): number | undefined {
  const [, first = '', second = ''] = /version "(\d+)(?:\.(\d+))?/.exec(text) ?? [];
  if (first === '') return undefined;
  return Number(first === '1' ? second : first);
}
