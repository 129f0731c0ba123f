import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machine } from '../../functions/compose/machine.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { BareSqlite } from './bare-sqlite.ts';
import { type Measurement, measure, medianOf, round } from './load.ts';
import { BenchServer } from './server.ts';
import { commitBody, randomDocument } from './workload.ts';

export interface BenchOptions {
  /** How long each measurement of a round runs. */
  readonly seconds: number;
  readonly rounds: number;
  /** Only these, where a benchmark is about several. */
  readonly providers: readonly string[];
  /** Sizes of tenants, where a benchmark is about copies of them. */
  readonly megabytes: readonly number[];
}

const CLIENTS = [1, 32] as const;
const WARMUP_SECONDS = 0.5;
const LEASE_BATCH = 10;

/** As deployed: only Development holds every answer against its model. */
export const UNCHECKED = 'Server:ValidateResponses=false';

type Figures = Record<string, Measurement[]>;

/**
 * Commits, replays, reads and outbox lease with acknowledgement over HTTP on the embedded server, grouped and with one
 * transaction a commit, beside the bare SQLite transaction. The measurements of a round follow one another, so that
 * what else the machine does falls on all of them; figures are medians over the rounds.
 */
export async function benchCanonicalHttp({ seconds, rounds }: BenchOptions): Promise<object> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-bare-'));
  const path = join(folder, 'bare.sqlite');
  await (await openSqliteStore({ path, ...machine })).close();
  const bare = new BareSqlite(path);
  const grouped = await BenchServer.start([UNCHECKED]);
  const single = await BenchServer.start([UNCHECKED, 'CanonicalStore:Grouping=false']);
  const figures: Figures = {};
  const add = (name: string, figure: Measurement) => {
    (figures[name] ??= []).push(figure);
  };
  try {
    await Promise.all([grouped.preload(), single.preload()]);
    for (let n = 0; n < rounds; n++) {
      add('bare', bare.measure(seconds, WARMUP_SECONDS));
      for (const clients of CLIENTS) {
        const run = (call: () => Promise<void>) =>
          measure({ clients, seconds, warmupSeconds: WARMUP_SECONDS, call });
        add(`commitGrouped@${clients}`, await run(() => commit(grouped)));
        add(`commitUngrouped@${clients}`, await run(() => commit(single)));
        const repeated = commitBody();
        await grouped.post('/transactions', repeated);
        add(`replay@${clients}`, await run(async () => void (await grouped.post('/transactions', repeated))));
        add(`read@${clients}`, await run(() => read(grouped)));
        add(`leaseAndAck@${clients}`, await leaseAndAck(grouped, clients, seconds));
      }
    }
  } finally {
    bare.close();
    await Promise.all([grouped.stop(), single.stop(), rm(folder, { recursive: true, force: true })]);
  }
  return report(figures);
}

async function commit(server: BenchServer): Promise<void> {
  await server.post('/transactions', commitBody(randomUUID()));
}

async function read(server: BenchServer): Promise<void> {
  await server.post('/documents/read', { documentType: 'bench', id: randomDocument() });
}

/** Counts events: a client leases ten at a time and acknowledges each. The commits before left plenty. */
async function leaseAndAck(server: BenchServer, clients: number, seconds: number): Promise<Measurement> {
  const call = async (client: number) => {
    const body = { consumerId: `c${client}`, maxItems: LEASE_BATCH, leaseSeconds: 600 };
    const leases = JSON.parse(await server.post('/outbox/leases', body)) as Lease[];
    if (leases.length === 0) throw new Error('the outbox ran dry: raise the share of commits');
    for (const { event, leaseToken } of leases) {
      await server.post(`/outbox/${encodeURIComponent(event.id)}/ack`, { leaseToken });
    }
  };
  const batches = await measure({ clients, seconds: seconds / 2, warmupSeconds: 0.2, call });
  return { ...batches, perSecond: round(batches.perSecond * LEASE_BATCH) };
}

interface Lease {
  readonly event: { readonly id: string };
  readonly leaseToken: string;
}

function report(figures: Figures): object {
  const medians = Object.fromEntries(
    Object.entries(figures).map(([name, rounds]) => [name, medianOf(rounds)]),
  );
  const bare = medians.bare?.perSecond ?? 0;
  return {
    bench: 'canonical-http',
    measures: {
      bare: 'node:sqlite alone, one transaction a commit, synchronous=FULL, the same rows; commits per second',
      commitGrouped: 'POST transactions over HTTP; waiting commits share a flush',
      commitUngrouped: 'the same with CanonicalStore:Grouping=false',
      replay: 'POST transactions with a used key',
      read: 'POST documents/read',
      leaseAndAck:
        'events leased ten at a time and acknowledged one by one; events per second, times per batch',
    },
    server: {
      process: 'functions/embedded.ts on SQLite',
      settings: `permit limit raised (test/support/server-process.ts); ${UNCHECKED}; grouped or not as named`,
    },
    client: 'node:http in one process, kept-alive connections, closed loop',
    results: Object.fromEntries(
      Object.entries(medians).map(([name, figure]) => [
        name,
        { ...figure, ofBare: bare === 0 ? null : round(figure.perSecond / bare) },
      ]),
    ),
  };
}
