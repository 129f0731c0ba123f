/**
 * Delivers the outbox to the projection file until SIGTERM, or with `--until-drained` until no event is left:
 *
 *     node examples/claims/dispatcher.ts <address> <file> [--until-drained]
 *
 * Prints the growing number of projected events. SIGTERM ends it after the active events.
 */
import type { OutboxEvent } from '../../dispatcher/client.ts';
import { Dispatcher } from '../../dispatcher/dispatcher.ts';
import { HttpOutboxClient } from '../../dispatcher/http-client.ts';
import { Projection } from './projection.ts';
import { type EventPayload, Service, TENANT } from './service.ts';

const CONCURRENCY = 100;
const LEASE_SECONDS = 5;
const WAIT_SECONDS = 20;
/** The pause after the last event before the dispatcher checks whether the outbox is empty. */
const QUIET_MS = 250;

const [address, path, ...flags] = process.argv.slice(2);
const untilDrained = flags.includes('--until-drained');
if (address === undefined || path === undefined) {
  console.error('usage: node examples/claims/dispatcher.ts <address> <file> [--until-drained]');
  process.exit(2);
}

const service = new Service(address);
const projection = await Projection.open(path);
console.log(projection.size);

const dispatcher = new Dispatcher({
  client: new HttpOutboxClient({ address }),
  tenantId: TENANT,
  consumerId: `dispatcher-${process.pid}`,
  handlers: { 'claim.reported': project, 'claim.assessed': project, 'claim.withdrawn': project },
  concurrency: CONCURRENCY,
  leaseSeconds: LEASE_SECONDS,
  waitSeconds: WAIT_SECONDS,
  onEvent({ type }) {
    if (type === 'delivered') lookWhenQuiet();
  },
  onError(error, { during, event }) {
    console.error(`${during}${event === null ? '' : ` of ${event.id}`}: ${String(error)}`);
  },
});

let quiet: NodeJS.Timeout | undefined;
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void stop());
dispatcher.start();
lookWhenQuiet();

/** Returns when the event is on the disk; the dispatcher acknowledges it after that. */
async function project({ id, payload }: OutboxEvent): Promise<void> {
  const before = projection.size;
  await projection.add({ eventId: id, ...(payload as EventPayload) });
  if (projection.size !== before) console.log(projection.size);
}

function lookWhenQuiet(): void {
  if (!untilDrained) return;
  clearTimeout(quiet);
  quiet = setTimeout(
    () => void isDrained().then((drained) => (drained ? stop() : lookWhenQuiet())),
    QUIET_MS,
  );
}

/** Whether every event is acknowledged, including those leased by a consumer that died. */
async function isDrained(): Promise<boolean> {
  for (const state of ['leased', 'scheduled', 'ready']) if ((await service.count(state)) > 0) return false;
  return true;
}

async function stop(): Promise<void> {
  clearTimeout(quiet);
  await dispatcher.stop();
  await projection.close();
}
