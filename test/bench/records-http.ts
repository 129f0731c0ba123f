import { UNCHECKED } from './canonical-http.ts';
import { requireEnd } from './execution-start.ts';
import type { JsonClient } from './json-client.ts';
import { type Measurement, measure, medianOf, round } from './load.ts';
import { BENCH_POLICY, recordText } from './records-texts.ts';
import { BenchServer } from './server.ts';

/** Records of one transaction at the port. */
export const BATCH = 100;
/** Records of one job over HTTP: a request has at most 1 MiB. */
const JOB = 700;
const CLIENTS = 2;
/** Records of one import, which the server is set to take. */
const IMPORT = 4_000;
const IMPORT_BYTES = 'Records:ImportPayloadBytesMax=8388608';

/** The id of a job is that of its run. */
interface Admitted {
  readonly id: string;
}

/** Upserts as jobs, and imports that replace a collection, on an embedded server of a process of its own. */
export async function measureHttp(seconds: number, rounds: number): Promise<object> {
  const server = await BenchServer.start([UNCHECKED, IMPORT_BYTES]);
  try {
    const { client } = server;
    const created = await client.postJson<Admitted>('/collections', BENCH_POLICY);
    await requireEnd(client, created.id);
    let count = 0;
    const figures: Measurement[] = [];
    for (let n = 0; n < rounds; n++)
      figures.push(
        await measure({
          clients: CLIENTS,
          seconds,
          warmupSeconds: 1,
          async call() {
            const records = Array.from({ length: JOB }, () => JSON.parse(recordText(count++)) as object);
            const { id } = await client.postJson<Admitted>('/collections/bench/records/batch', { records });
            await requireEnd(client, id);
          },
        }),
      );
    const { perSecond, p50Ms, p99Ms } = medianOf(figures);
    return {
      upsertsPerSecond: round(perSecond * JOB),
      jobP50Ms: p50Ms,
      jobP99Ms: p99Ms,
      clients: CLIENTS,
      import: await measureImport(client, seconds, rounds),
    };
  } finally {
    await server.stop();
  }
}

async function measureImport(client: JsonClient, seconds: number, rounds: number): Promise<object> {
  const policy = { ...BENCH_POLICY, name: 'imported' };
  const records = Array.from({ length: IMPORT }, (_, n) => JSON.parse(recordText(n)) as object);
  const request = { snapshot: { policy, records }, replaceExisting: true };
  const figures: Measurement[] = [];
  for (let n = 0; n < rounds; n++)
    figures.push(
      await measure({
        clients: 1,
        seconds,
        warmupSeconds: 1,
        async call() {
          const { id } = await client.postJson<Admitted>('/collections/imported/import', request);
          await requireEnd(client, id);
        },
      }),
    );
  const { perSecond, p50Ms, p99Ms } = medianOf(figures);
  return { recordsPerSecond: round(perSecond * IMPORT), jobP50Ms: p50Ms, jobP99Ms: p99Ms, records: IMPORT };
}
