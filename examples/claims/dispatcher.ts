/**
 * Drains the outbox into the projection file until it is told to stop, or with `--until-drained` until no event is left
 * to deliver:
 *
 *     node examples/claims/dispatcher.ts <address> <file> [--until-drained]
 *
 * Prints the number of projected events after each batch. SIGTERM ends it after the batch in hand.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Projection } from './projection.ts';
import { Service } from './service.ts';

const BATCH = 100;
const LEASE_SECONDS = 5;
const IDLE_MS = 200;

const [address, path, ...flags] = process.argv.slice(2);
const untilDrained = flags.includes('--until-drained');
if (address === undefined || path === undefined) {
  console.error('usage: node examples/claims/dispatcher.ts <address> <file> [--until-drained]');
  process.exit(2);
}

const stop = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort());

const service = new Service(address);
const projection = await Projection.open(path);
console.log(projection.size);
while (!stop.signal.aborted) {
  const leases = await service.lease(`dispatcher-${process.pid}`, BATCH, LEASE_SECONDS);
  if (leases.length === 0) {
    if (untilDrained && (await isDrained())) break;
    await pause(IDLE_MS, undefined, { signal: stop.signal }).catch(() => undefined);
    continue;
  }
  await projection.add(leases.map(({ event }) => ({ eventId: event.id, ...event.payload })));
  await Promise.all(leases.map(({ event, leaseToken }) => service.acknowledge(event.id, leaseToken)));
  console.log(projection.size);
}
await projection.close();

/** Whether every event was acknowledged, also those that a consumer now gone had leased. */
async function isDrained(): Promise<boolean> {
  for (const state of ['leased', 'scheduled', 'ready']) if ((await service.count(state)) > 0) return false;
  return true;
}
