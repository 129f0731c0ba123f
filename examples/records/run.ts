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
import { startFirestoreEmulator } from '../../emulator/firestore.ts';
import { Service, type ServiceProgram } from '../approval/service.ts';
import { type Example, runExample } from '../run-example.ts';
import { libraryOf } from './library.ts';
import { play } from './story.ts';

type Undo = Parameters<Example['main']>[0];

const root = join(import.meta.dirname, '../..');
const usage = `usage: npm run example:records -- [--records <number>] [--clients <number>] [--cloud] [--keep] [--chart <file>]

--records  at most that many records of each edition (all, about 6,000, on the local cloud 1,500; at least 200)
--clients  how many clients load at the same time (2)
--cloud    on the local cloud, with the queue and the hosted worker, instead of the embedded service;
           it needs Java and the official Firestore emulator
--keep     leaves the data folder
--chart    writes the picture of the evaluation, an SVG file`;

/** An import of all records is larger than the default allows, and the readers read without a pause. */
const flags = ['--Records:ImportPayloadBytesMax=8388608', '--Server:RecordRateLimit:PermitLimit=1000000'];

const { records, clients, cloud, keep, chart } = readOptions();

await runExample({
  name: cloud ? 'example:records:cloud' : 'example:records',
  takes: cloud ? 'two to four minutes' : 'about half a minute',
  main,
});

async function main(undo: Undo): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-records-'));
  undo(async () => (keep ? console.log(`Kept ${folder}.`) : rm(folder, { recursive: true, force: true })));
  const service = new Service(cloud ? await localCloud(folder, undo) : embedded(folder));
  undo(() => service.stop());
  await service.start();
  console.log(`${cloud ? 'The local cloud' : 'The service'} answers on ${service.address}.`);
  const editions = { 1: libraryOf(root, 1, records), 2: libraryOf(root, 2, records) };
  // A search takes seconds on the emulator of Firestore, and a comparison makes one for each profile in one call.
  const patience = cloud ? { questions: 1, timeout: 600_000 } : {};
  await play({ address: service.address, editions, clients, root, showChart, ...patience });
  return 'Every promise was kept';
}

async function showChart(svg: string): Promise<void> {
  if (chart !== undefined) await writeFile(chart, svg);
}

function embedded(folder: string): ServiceProgram {
  return { script: 'functions/embedded.ts', args: flags, env: { SVC_DATA_DIR: folder } };
}

async function localCloud(folder: string, undo: Undo): Promise<ServiceProgram> {
  const firestore = await startFirestoreEmulator();
  undo(() => firestore.stop());
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
        records: { type: 'string' },
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
      // The emulator of Firestore is slow, and its calls read fewer records by the limits of the service.
      records: wholeNumber('--records', values.records ?? (values.cloud ? '1500' : '10000'), 200, 10_000),
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
