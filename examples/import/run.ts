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
import { runExample } from '../run-example.ts';
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

await runExample({
  name: 'example:import',
  takes: 'about a minute',
  async main(undo) {
    const folder = await mkdtemp(join(tmpdir(), 'svc-import-'));
    undo(async () =>
      values.keep ? console.log(`Kept ${folder}.`) : rm(folder, { recursive: true, force: true }),
    );
    const service = await ServiceProcess.start('examples/import/settings.json', join(folder, 'data'));
    undo(() => service.stop());
    const front = await Front.start(service.address);
    undo(() => front.stop());
    console.log(`The service answers on ${service.address}; its data is in ${folder}.`);
    await new Story(service.address, front, folder, documents).play();
    return `Every promise was kept: ${documents} documents twice`;
  },
});
