import { copyFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { buildServer } from '../build/server.ts';
import { makeClient } from '../packages/client.ts';
import { makePython } from '../packages/python.ts';
import { makeStarter } from '../packages/starter.ts';

/** The archives that a first application in TypeScript needs, by the names of their recipes. */
export interface StarterArchives {
  readonly server: string;
  readonly client: string;
  readonly starter: string;
}

/** Makes them in a folder, in the form in which they are published. */
export async function makeStarterArchives(folder: string): Promise<StarterArchives> {
  const { archive: server } = await buildServer(folder);
  return { server, client: await makeClient(folder), starter: await makeStarter(folder) };
}

/** Adds what one in Python needs beside the server. */
export async function makeStarterWheel(folder: string): Promise<void> {
  const archives = await makePython(folder);
  for (const archive of archives.filter((path) => path.endsWith('.whl')))
    await copyFile(archive, join(folder, basename(archive)));
}
