import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machine } from '../../functions/compose/machine.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { startServer } from '../support/server-process.ts';
import type { BenchOptions } from './canonical-http.ts';
import { UNCHECKED } from './canonical-http.ts';
import { child } from './copies.ts';
import { peakRssOf, processorSeconds, watchMemory } from './copies-memory.ts';
import { medianNumber, round } from './load.ts';

const TENANT_ID = 'bench';
/** The size of the records, which makes some 65 MB of lines: a snapshot holds 64 MiB. */
const MEGABYTES = 64;
const LOOK_MS = 20;

interface Figures {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly idleRssMb: number;
  readonly peakRssMb: number;
  readonly peakOwnMb: number;
  /** The longest that a health request had to wait meanwhile. */
  readonly healthMaxMs: number;
  readonly bodyMb: number;
}

/**
 * The largest JSON snapshot over HTTP: export and restore on the embedded server, each on a server just started, beside
 * what the engine takes for the text alone (`JSON.parse` and `JSON.stringify`).
 */
export async function benchCopiesHttp({ rounds }: BenchOptions): Promise<object> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-snapshot-'));
  const settings = [
    'CanonicalStore:Provider=sqlite',
    `CanonicalStore:DatabasePath=${join(folder, 'svc.sqlite')}`,
  ];
  try {
    // Made here, so that the process that fills it finds its tables.
    await (await openSqliteStore({ path: join(folder, 'svc.sqlite'), ...machine })).close();
    await child({ step: 'build', settings, tenantId: TENANT_ID, folder, megabytes: MEGABYTES });
    const figures: Record<string, Figures[]> = { export: [], restore: [] };
    const bare: { parse: number; stringify: number }[] = [];
    for (let n = 0; n < rounds; n++) {
      const exported = await onServer(settings, folder, 'GET', '/export', null);
      figures['export']?.push(exported.figures);
      bare.push(bareOf(exported.body));
      // Put together as text: a snapshot in memory would be this process's, but slow the machine down all the same.
      const body = Buffer.concat([Buffer.from('{"snapshot":'), exported.body, Buffer.from('}')]);
      figures['restore']?.push((await onServer(settings, folder, 'POST', '/restore', body)).figures);
      console.error(`copies-http: round ${n + 1}: ${JSON.stringify(figures['export']?.at(-1))}`);
      console.error(`copies-http: round ${n + 1}: ${JSON.stringify(figures['restore']?.at(-1))}`);
    }
    return report(figures, bare);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function bareOf(body: Buffer): { parse: number; stringify: number } {
  const startedAt = performance.now();
  const value: unknown = JSON.parse(body.toString());
  const parsedAt = performance.now();
  Buffer.from(JSON.stringify(value));
  return { parse: (parsedAt - startedAt) / 1000, stringify: (performance.now() - parsedAt) / 1000 };
}

async function onServer(
  settings: readonly string[],
  folder: string,
  method: 'GET' | 'POST',
  path: string,
  body: Buffer | null,
): Promise<{ figures: Figures; body: Buffer }> {
  const server = await startServer({ SVC_DATA_DIR: folder }, [UNCHECKED, ...settings]);
  const agent = new Agent({ keepAlive: true });
  const pid = server.child.pid ?? 0;
  try {
    const address = `${server.address}/canonical/tenants/${TENANT_ID}`;
    await call(agent, 'GET', `${server.address}/health`, null);
    const idleRssMb = peakRssOf(pid);
    const memory = watchMemory(pid);
    const health = watchHealth(agent, `${server.address}/health`);
    const [startedAt, usedBefore] = [performance.now(), processorSeconds(pid)];
    const answer = await call(agent, method, `${address}${path}`, body);
    const seconds = (performance.now() - startedAt) / 1000;
    const cpuSeconds = processorSeconds(pid) - usedBefore;
    const healthMaxMs = await health.stop();
    const { peakRssMb, peakOwnMb } = memory.stop();
    const bodyMb = (body ?? answer).byteLength / 1e6;
    return {
      figures: {
        seconds,
        cpuSeconds,
        idleRssMb,
        peakRssMb,
        peakOwnMb: peakOwnMb ?? Number.NaN,
        healthMaxMs,
        bodyMb,
      },
      body: answer,
    };
  } finally {
    agent.destroy();
    await server.stop();
  }
}

/** Asks again and again, each time when the last answer has come. */
function watchHealth(agent: Agent, url: string): { stop(): Promise<number> } {
  let longestMs = 0;
  const stopping = new AbortController();
  const loop = async (): Promise<number> => {
    while (!stopping.signal.aborted) {
      const startedAt = performance.now();
      await call(agent, 'GET', url, null);
      longestMs = Math.max(longestMs, performance.now() - startedAt);
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
    return longestMs;
  };
  const done = loop();
  return {
    stop() {
      stopping.abort();
      return done;
    },
  };
}

function call(agent: Agent, method: string, url: string, body: Buffer | null): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const headers =
      body === null ? {} : { 'content-type': 'application/json', 'content-length': body.byteLength };
    const outgoing = request(url, { method, agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const answer = Buffer.concat(chunks);
        if ((response.statusCode ?? 500) < 300) resolve(answer);
        else
          reject(new Error(`${url} was answered ${response.statusCode}: ${answer.toString().slice(0, 500)}`));
      });
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

function report(
  figures: Readonly<Record<string, readonly Figures[]>>,
  bare: readonly { parse: number; stringify: number }[],
): object {
  const median = (each: readonly Figures[], pick: keyof Figures) =>
    round(medianNumber(each.map((figure) => figure[pick])));
  const shown = Object.entries(figures).map(([name, each]) => [
    name,
    {
      seconds: median(each, 'seconds'),
      cpuSeconds: median(each, 'cpuSeconds'),
      bodyMb: median(each, 'bodyMb'),
      idleRssMb: median(each, 'idleRssMb'),
      peakRssMb: median(each, 'peakRssMb'),
      peakOwnMb: median(each, 'peakOwnMb'),
      healthMaxMs: median(each, 'healthMaxMs'),
    },
  ]);
  return {
    bench: 'copies-http',
    measures: {
      export:
        'GET export of a tenant of 64 MiB of lines on the embedded server, SQLite, until the answer is whole',
      restore:
        'POST restore of that snapshot into the same tenant, which keeps the old records until it is done',
      peakRssMb:
        'of the server, which was started for the one request; idleRssMb before it; peakOwnMb without mapped files',
      cpuSeconds: 'processor time of the server',
      healthMaxMs: 'the longest that a health request waited meanwhile',
      bare: 'seconds of JSON.parse and of JSON.stringify for the same text, in the process of the client',
    },
    results: {
      ...Object.fromEntries(shown),
      bare: {
        parseSeconds: round(medianNumber(bare.map(({ parse }) => parse))),
        stringifySeconds: round(medianNumber(bare.map(({ stringify }) => stringify))),
      },
    },
  };
}
