import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { buildServer } from '../build/server.ts';
import { makeClient } from './client.ts';
import { makeDispatcher } from './dispatcher.ts';
import { makePython } from './python.ts';
import { makeStarter } from './starter.ts';

/** The packages of a release, in the order in which they are made. */

interface Made {
  readonly archives: readonly string[];
  /** The packages whose code is in the archives, by their folder in the lock file. */
  readonly bundled: readonly string[];
  readonly faults: readonly string[];
}

export interface Recipe {
  /** The name for `--only`, and of the folder below `packages/` with the list of files. */
  readonly id: string;
  readonly kind: 'npm' | 'python';
  /** Whether it has nothing but commands. */
  readonly isCommand?: true;
  /** The budget of each archive in bytes. */
  readonly bytesMax: number;
  make(work: string): Promise<Made>;
}

const alone = (archive: string): Made => ({ archives: [archive], bundled: [], faults: [] });

export const recipes: readonly Recipe[] = [
  {
    id: 'server',
    kind: 'npm',
    // Half of it is the API reference of `/docs` and the source maps.
    bytesMax: 6_200_000,
    async make(work) {
      const folder = join(work, 'server');
      await mkdir(folder, { recursive: true });
      const { archive, bundled, faults } = await buildServer(folder);
      return { archives: [archive], bundled, faults };
    },
  },
  {
    id: 'client',
    kind: 'npm',
    // Handlers with steps and their replay tests make a tenth of its bytes.
    bytesMax: 275_000,
    make: async (work) => alone(await makeClient(work)),
  },
  {
    id: 'dispatcher',
    kind: 'npm',
    bytesMax: 60_000,
    make: async (work) => alone(await makeDispatcher(work)),
  },
  {
    id: 'starter',
    kind: 'npm',
    isCommand: true,
    bytesMax: 60_000,
    make: async (work) => alone(await makeStarter(work)),
  },
  {
    id: 'python',
    kind: 'python',
    bytesMax: 330_000,
    make: async (work) => ({ archives: await makePython(work), bundled: [], faults: [] }),
  },
];
