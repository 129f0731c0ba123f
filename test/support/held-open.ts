import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { basename } from 'node:path';

/**
 * Loaded before a program: the n-th opening of a file of this name waits until a signal has come, so that the program cannot end
 * before its test stops it.
 */
const { searchParams } = new URL(import.meta.url);
let left = Number(searchParams.get('turn') ?? 0);
const signalled = Promise.withResolvers<void>();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => signalled.resolve());

const { open } = fs;
fs.open = async (path, ...how) => {
  if (basename(path.toString()) === searchParams.get('name') && --left === 0) {
    // A promise alone keeps no process.
    const alive = setInterval(() => undefined, 60_000);
    await signalled.promise;
    clearInterval(alive);
  }
  return open(path, ...how);
};
syncBuiltinESMExports();
