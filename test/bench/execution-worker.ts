import { JsonClient } from './json-client.ts';

/** A worker that leases one run, prints the end of the lease, and then stays silent. */
const [address = '', handlerId = '', ttlSeconds = ''] = process.argv.slice(2);
const lease = await new JsonClient(address).postJson<{ readonly expiresAtUtc: string }>(
  '/execution/workers/leases',
  { workerId: 'killed', handlerIds: [handlerId], waitSeconds: 10, ttlSeconds: Number(ttlSeconds) },
);
console.log(lease.expiresAtUtc);
setInterval(() => undefined, 60_000);
