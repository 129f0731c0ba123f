/**
 * One step of the benchmark `copies` in a process of its own, so that its memory is its own too: `copies-child.ts <task>`.
 * The last line that it prints is what it measured.
 */

import { archiveDirectory, writeArchiveDirectory } from '../../cli/archive-directory.ts';
import { compose } from '../../functions/compose/compose.ts';
import { loadConfiguration } from '../../functions/config/load.ts';
import { openArchive } from '../../functions/groups/canonical/copies/snapshot/archive.ts';
import {
  exportTenantArchive,
  restoreTenantArchive,
} from '../../functions/groups/canonical/copies/tenant-archives.ts';
import { tenantScope } from '../../functions/groups/canonical/records.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { bareExport, bareRestore } from './copies-bare.ts';
import { type Memory, watchMemory } from './copies-memory.ts';
import { tenantRecords } from './copies-tenant.ts';

export interface CopyTask {
  readonly step: keyof typeof steps;
  /** The database, as the command line of a server names it. */
  readonly settings: readonly string[];
  /** The database that a bare restore takes its rows from. */
  readonly from?: readonly string[];
  readonly tenantId: string;
  readonly folder: string;
  readonly megabytes: number;
}

export interface StepFigures extends Memory {
  readonly seconds: number;
  /** Processor time of this process: what other programs of the machine do shows less in it. */
  readonly cpuSeconds: number;
  /** Further results of a step, such as the seconds of its parts. */
  readonly [more: string]: unknown;
}

const steps = {
  /** The floor of every process: the code loaded, the database open. */
  idle: withStore(() => Promise.resolve({})),
  build: withStore(async (store, { tenantId, megabytes }) => {
    let records = 0;
    const counted = async function* () {
      for (const record of tenantRecords(tenantId, megabytes * 1e6)) {
        records += 1;
        yield record;
      }
    };
    await store.swap(tenantScope(tenantId), counted(), () => undefined);
    return { records };
  }),
  export: withStore(async (store, { tenantId, folder }) => {
    const { snapshotContentHash } = await writeArchiveDirectory(folder, (sink) =>
      exportTenantArchive(store, tenantId, sink, { now: Date.now() }),
    );
    return { snapshotContentHash };
  }),
  restore: withStore(async (store, { tenantId, folder }) => {
    const source = await archiveDirectory(folder);
    const { snapshotContentHash } = await restoreTenantArchive(store, tenantId, source);
    return { snapshotContentHash };
  }),
  /** The first half of a restore alone. */
  verify: timed(async ({ tenantId, folder }) => {
    const archive = await openArchive(tenantId, await archiveDirectory(folder));
    await archive.check();
    return {};
  }),
  bareExport: timed(({ settings, tenantId, folder }) => bareExport(settings, tenantId, folder)),
  bareRestore: timed(({ from = [], settings, tenantId, folder }) =>
    bareRestore(from, settings, tenantId, folder),
  ),
} as const;

type Step = (task: CopyTask) => Promise<StepFigures>;

function withStore(work: (store: RecordStore, task: CopyTask) => Promise<object>): Step {
  return async (task) => {
    const argv = task.settings.map((setting) => `--${setting}`);
    const { settings, faults } = loadConfiguration({
      host: 'embedded',
      env: {},
      argv,
      readFile: () => undefined,
    });
    if (settings === undefined) throw new Error(JSON.stringify(faults));
    const service = compose(settings, { writeLog: (line) => console.error(line) });
    const store = await service.store();
    await store.ping();
    const figures = await timed((each) => work(store, each))(task);
    await service.close();
    return figures;
  };
}

function timed(work: (task: CopyTask) => Promise<object>): Step {
  return async (task) => {
    const memory = watchMemory();
    const [startedAt, usedBefore] = [performance.now(), process.cpuUsage()];
    const more = await work(task);
    const [seconds, used] = [(performance.now() - startedAt) / 1000, process.cpuUsage(usedBefore)];
    return { seconds, cpuSeconds: (used.user + used.system) / 1e6, ...memory.stop(), ...more };
  };
}

const task = JSON.parse(process.argv[2] ?? '') as CopyTask;
console.log(JSON.stringify(await steps[task.step](task)));
