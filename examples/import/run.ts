/**
 * A staged import from beginning to end: starts the embedded service in its own folder and imports two editions of a
 * catalogue. Importers are killed midway and around the publishing commit, while readers read and a dispatcher
 * delivers events. Fails at the first broken promise.
 *
 *     npm run example:import -- [--documents 10000] [--keep]
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Front } from './front.ts';
import { ServiceProcess } from './processes.ts';
import { Story } from './story.ts';

const { values } = parseArgs({
  options: {
    documents: { type: 'string', default: '10000' },
    keep: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
if (values.help) {
  console.log(
    'usage: npm run example:import -- [--documents <number, default 10000>] [--keep]\n\n--keep leaves the data folder.',
  );
  process.exit(0);
}
const documents = Number(values.documents);
if (!Number.isInteger(documents) || documents < 1000 || documents > 100_000) {
  console.error('--documents must be a whole number from 1000 to 100000');
  process.exit(2);
}

const folder = await mkdtemp(join(tmpdir(), 'svc-import-'));
const service = await ServiceProcess.start('examples/import/settings.json', join(folder, 'data'));
process.once('SIGINT', () => void service.stop());
const front = await Front.start(service.address);
try {
  console.log(`The service answers on ${service.address}; its data is in ${folder}.`);
  const startedAt = performance.now();
  await new Story(service.address, front, folder, documents).play();
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(`Every promise was kept: ${documents} documents twice, in ${seconds} s.`);
} finally {
  await front.stop();
  await service.stop();
  if (values.keep) console.log(`Kept ${folder}.`);
  else await rm(folder, { recursive: true, force: true });
}
