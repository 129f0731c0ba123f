import { parseArgs } from 'node:util';
import { firstStopSignal } from '../../functions/kernel/stop-signals.ts';
import { startTasksEmulator, type TasksEmulator } from './tasks-emulator.ts';

/** The Cloud Tasks emulator alone. */

const help = `Cloud Tasks on this machine, for the official client.

Usage: node emulator/tasks/main.ts [options]

  --port=NUMBER                     of the gRPC service, default 8123; 0 takes a free one
  --admin-port=NUMBER               of the page and the fault switches, default 8124; 0 takes a free one
  --data-dir=FOLDER                 keeps queues and tasks there; without it they end with the process
  --queue=NAME                      projects/P/locations/L/queues/Q, created where it is missing; may be repeated
  --task-name-held-seconds=NUMBER   how long the name of an ended task cannot be taken again, default 3600
  --queue-name-held-seconds=NUMBER  how long the name of a deleted queue cannot be taken again, default 604800

It listens on loopback and sends to loopback only.`;

async function main(argv: string[]): Promise<number> {
  const first = firstStopSignal(process, { now: () => Date.now() });
  let emulator: TasksEmulator;
  try {
    const { values } = parseArgs({
      args: argv,
      options: {
        help: { type: 'boolean', short: 'h' },
        port: { type: 'string', default: '8123' },
        'admin-port': { type: 'string', default: '8124' },
        'data-dir': { type: 'string' },
        queue: { type: 'string', multiple: true, default: [] },
        'task-name-held-seconds': { type: 'string', default: '3600' },
        'queue-name-held-seconds': { type: 'string', default: '604800' },
      },
    });
    if (values.help === true) {
      console.log(help);
      return 0;
    }
    const dataDir = values['data-dir'];
    emulator = await startTasksEmulator({
      port: wholeNumber('port', values.port, 65_535),
      adminPort: wholeNumber('admin-port', values['admin-port'], 65_535),
      queues: values.queue.map((name) => ({ name })),
      taskNameHeldMs: 1000 * wholeNumber('task-name-held-seconds', values['task-name-held-seconds'], 1e8),
      queueNameHeldMs: 1000 * wholeNumber('queue-name-held-seconds', values['queue-name-held-seconds'], 1e8),
      ...(dataDir === undefined ? {} : { dataDir }),
    });
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    return 1;
  }
  const { host, port, adminUrl, issuer } = emulator;
  console.log(
    `The Cloud Tasks emulator is ready at ${host}:${port}; ${adminUrl} shows its queues; its tokens are of ${issuer.issuer}`,
  );
  await first;
  await emulator.stop();
  return 0;
}

function wholeNumber(name: string, text: string, max: number): number {
  const value = Number(text);
  if (/^\d{1,9}$/.test(text) && value <= max) return value;
  throw new Error(`--${name} must be a whole number from 0 to ${max}.`);
}

process.exit(await main(process.argv.slice(2)));
