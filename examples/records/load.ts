import type { SvcClient } from '../../sdk/typescript/src/index.ts';
import { written } from './jobs.ts';
import type { Passage } from './library.ts';

/** A batch job takes at most 1,000 records, and 1 MiB unless the service is set otherwise. */
const BATCH = 250;

/** Loads the records in batches. Each client takes the next batch as soon as its last one is written. */
export async function load(
  clients: readonly SvcClient[],
  collection: string,
  records: readonly Passage[],
  show: (records: number) => void,
): Promise<void> {
  const batches = Array.from({ length: Math.ceil(records.length / BATCH) }, (_, at) =>
    records.slice(at * BATCH, (at + 1) * BATCH),
  );
  const counts = batches.map(() => 0);
  let next = 0;
  await Promise.all(
    clients.map(async (client) => {
      for (let at = next++; at < batches.length; at = next++) {
        const request = { records: batches[at] ?? [] };
        // With the key a repeated request answers the same job, and the client may repeat it after a failure.
        const idempotencyKey = `${collection}:batch:${at}`;
        const job = await client.startRecordBatchUpsertJob(collection, request, {}, { idempotencyKey });
        await written(client, job, (count) => {
          counts[at] = count;
          show(counts.reduce((sum, each) => sum + each, 0));
        });
      }
    }),
  );
}
