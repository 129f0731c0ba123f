import { statfs } from 'node:fs/promises';
import { EmulatorNotFound, findJar, findJava } from '../../emulator/firestore.ts';
import { hasScripts } from '../../functions/release.ts';
import { type Check, failed, messageOf, ok, warning } from './check.ts';

/** The project's own release is the tested one. `found` and `tested` look like `24.21.0`. */
export function nodeCheck(found: string, tested: string, inProject = hasScripts): Check {
  const [major, wanted] = [found, tested].map((version) => Number.parseInt(version, 10));
  if (major === wanted) return ok('node', `Node ${found}.`);
  const remedy = inProject
    ? 'Start it with npm start, npm run or npx, which take the Node that npm install brought.'
    : `Put Node ${wanted} first in PATH: svc and svc-server take the node that they find there.`;
  return warning('node', `Node ${found}, but the service is tested on ${tested}.`, remedy);
}

const spaceNeededBytes = 64 * 1024 ** 2;
const spaceWantedBytes = 1024 ** 3;
const usedPercentWanted = 80;

/** `folder` exists. */
export async function spaceCheck(folder: string): Promise<Check> {
  try {
    const { bavail, bfree, blocks, bsize } = await statfs(folder);
    // Counts as df does: the service cannot use the blocks that are reserved for the superuser.
    const used = blocks - bfree;
    return judgeSpace(folder, bavail * bsize, (used + bavail) * bsize);
  } catch (error) {
    return warning('disk-space', `The free space of ${folder} is not known.`, messageOf(error));
  }
}

/** @testonly */
export function judgeSpace(folder: string, freeBytes: number, totalBytes: number): Check {
  const percent = totalBytes > 0 ? Math.floor((100 * (totalBytes - freeBytes)) / totalBytes) : 0;
  const message = `${sizeText(freeBytes)} free at ${folder}, ${percent} % of the disk are used.`;
  if (freeBytes >= spaceWantedBytes && percent < usedPercentWanted) return ok('disk-space', message);
  const remedy = 'Make room: a database that cannot grow refuses every commit.';
  return (freeBytes < spaceNeededBytes ? failed : warning)('disk-space', message, remedy);
}

function sizeText(bytes: number): string {
  return bytes >= 1024 ** 3
    ? `${(bytes / 1024 ** 3).toFixed(1)} GiB`
    : `${Math.floor(bytes / 1024 ** 2)} MiB`;
}

/** The needs of the local cloud. Nothing else needs them, so their absence is no failure. */
export async function emulatorCheck(env: Readonly<Record<string, string | undefined>>): Promise<Check> {
  if (env['FIRESTORE_EMULATOR_HOST'])
    return ok('emulator', 'FIRESTORE_EMULATOR_HOST names a running emulator.');
  try {
    const [java, jar] = [await findJava(), await findJar()];
    return ok('emulator', `${jar}, on ${java}.`);
  } catch (error) {
    if (!(error instanceof EmulatorNotFound)) throw error;
    const message =
      'Java or the Firestore emulator is missing; npm run emulator and the tests on it need them.';
    return warning('emulator', message, sentence(error.message));
  }
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
