/**
 * An approval from beginning to end: runs wait for decisions, the service is killed and restarted meanwhile, the
 * decisions come, and a callback that fails at first takes effect once. Fails at the first broken promise.
 *
 *     npm run example:approval
 *     npm run example:approval:cloud
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startFirestoreEmulator } from '../../emulator/firestore.ts';
import { type Example, runExample } from '../run-example.ts';
import { Books } from './books.ts';
import { Service, type ServiceProgram } from './service.ts';
import { play } from './story.ts';

type Undo = Parameters<Example['main']>[0];

const usage = `usage: npm run example:approval -- [--cloud] [--keep]

--cloud  on the local cloud, with the queue and the hosted worker, instead of the embedded service;
         it needs Java and the official Firestore emulator
--keep   leaves the data folder`;

const { cloud, keep, help } = readOptions();
if (help) {
  console.log(usage);
  process.exit(0);
}

await runExample({
  name: cloud ? 'example:approval:cloud' : 'example:approval',
  takes: cloud ? 'about a minute' : 'about a quarter of a minute',
  main,
});

async function main(undo: Undo): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-approval-'));
  undo(async () => (keep ? console.log(`Kept ${folder}.`) : rm(folder, { recursive: true, force: true })));
  const books = await Books.open();
  undo(() => books.close());
  const service = new Service(cloud ? await localCloud(folder, books, undo) : embedded(folder, books));
  undo(() => service.stop());
  await service.start();
  console.log(`${cloud ? 'The local cloud' : 'The service'} answers on ${service.address}.`);
  await play(service, books, cloud ? 10 : 5);
  return 'Every run ended once, and every decision was accepted once';
}

function embedded(folder: string, { address }: Books): ServiceProgram {
  return {
    script: 'functions/embedded.ts',
    args: ['--ExecutionRuntime:Plugins:0=./examples/approval/approval.ts'],
    env: { SVC_DATA_DIR: folder, APPROVAL_CALLBACK: address },
  };
}

/**
 * The database is a separate process here, as in the cloud. The kill ends the queue, the scheduler and all functions;
 * the queue reloads its tasks from the folder.
 */
async function localCloud(folder: string, { address }: Books, undo: Undo): Promise<ServiceProgram> {
  const firestore = await startFirestoreEmulator();
  undo(() => firestore.stop());
  return {
    script: 'emulator/main.ts',
    args: ['--data', folder, '--ExecutionRuntime:Plugins:0=./examples/approval/approval.ts'],
    env: {
      FIRESTORE_EMULATOR_HOST: firestore.host,
      GOOGLE_CLOUD_PROJECT: `demo-approval-${randomBytes(4).toString('hex')}`,
      APPROVAL_CALLBACK: address,
    },
  };
}

function readOptions() {
  const boolean = { type: 'boolean', default: false } as const;
  try {
    return parseArgs({ options: { cloud: boolean, keep: boolean, help: { ...boolean, short: 'h' } } }).values;
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    return process.exit(2);
  }
}
