/**
 * Collections and records from beginning to end: loads a few thousand records, queries and searches them, and replaces all of
 * them at one moment while readers read. Fails at the first broken promise.
 *
 *     npm run example:records
 *     npm run example:records:cloud
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { EmulatorNotFound, startFirestoreEmulator } from '../../emulator/firestore.ts';
import { Service, type ServiceProgram } from '../approval/service.ts';
import { libraryOf } from './library.ts';
import { play } from './story.ts';

const root = join(import.meta.dirname, '../..');
const usage = `usage: npm run example:records -- [--records <number>] [--clients <number>] [--cloud] [--keep] [--chart <file>]

--records  at most that many records of each edition (all, about 4,000; at least 200)
--clients  how many clients load at the same time (2)
--cloud    on the local cloud, with the queue and the hosted worker, instead of the embedded service;
           it needs Java and the official Firestore emulator
--keep     leaves the data folder
--chart    writes the picture of the evaluation, an SVG file`;

/** An import of all records is larger than the default allows, and the readers read without a pause. */
const flags = ['--Records:ImportPayloadBytesMax=8388608', '--Server:RecordRateLimit:PermitLimit=1000000'];

const { records, clients, cloud, keep, chart } = readOptions();

/** Clean-up steps, run in reverse order. */
const undo: (() => Promise<unknown>)[] = [];
const interrupted = new Promise<number>((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve(1));
});
let exitCode = 1;
try {
  exitCode = await Promise.race([main().then(() => 0), interrupted]);
} catch (error) {
  console.error(error instanceof EmulatorNotFound ? error.message : error);
} finally {
  for (const step of undo.reverse()) await step();
}
process.exit(exitCode);

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-records-'));
  undo.push(async () =>
    keep ? console.log(`Kept ${folder}.`) : rm(folder, { recursive: true, force: true }),
  );
  const service = new Service(cloud ? await localCloud(folder) : embedded(folder));
  undo.push(() => service.stop());
  await service.start();
  console.log(`${cloud ? 'The local cloud' : 'The service'} answers on ${service.address}.`);
  const editions = { 1: libraryOf(root, 1, records), 2: libraryOf(root, 2, records) };
  const startedAt = performance.now();
  // A search takes seconds on the emulator of Firestore, and a comparison makes one for each profile in one call.
  const patience = cloud ? { questions: 1, timeout: 600_000 } : {};
  await play({ address: service.address, editions, clients, root, showChart, ...patience });
  console.log(`Every promise was kept, in ${((performance.now() - startedAt) / 1000).toFixed(1)} s.`);
}

async function showChart(svg: string): Promise<void> {
  if (chart !== undefined) await writeFile(chart, svg);
}

function embedded(folder: string): ServiceProgram {
  return { script: 'functions/embedded.ts', args: flags, env: { SVC_DATA_DIR: folder } };
}

async function localCloud(folder: string): Promise<ServiceProgram> {
  const firestore = await startFirestoreEmulator();
  undo.push(() => firestore.stop());
  return {
    script: 'emulator/main.ts',
    args: ['--data', folder, ...flags],
    env: {
      FIRESTORE_EMULATOR_HOST: firestore.host,
      GOOGLE_CLOUD_PROJECT: `demo-records-${randomBytes(4).toString('hex')}`,
    },
  };
}

function readOptions() {
  const boolean = { type: 'boolean', default: false } as const;
  try {
    const { values } = parseArgs({
      options: {
        records: { type: 'string', default: '10000' },
        clients: { type: 'string', default: '2' },
        cloud: boolean,
        keep: boolean,
        chart: { type: 'string' },
        help: { ...boolean, short: 'h' },
      },
    });
    if (values.help) {
      console.log(usage);
      return process.exit(0);
    }
    return {
      ...values,
      records: wholeNumber('--records', values.records, 200, 10_000),
      clients: wholeNumber('--clients', values.clients, 1, 16),
    };
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    return process.exit(2);
  }
}

function wholeNumber(name: string, text: string, least: number, most: number): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= least && number <= most) return number;
  throw new Error(`${name} must be a whole number from ${least} to ${most}`);
}
