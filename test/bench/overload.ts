import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { BenchOptions } from './canonical-http.ts';
import { UNCHECKED } from './canonical-http.ts';
import { round } from './load.ts';
import type { Count, Kind, Lease, Phase } from './overload-child.ts';
import { BenchServer } from './server.ts';

const FACTOR = 3;
const OVERLOAD_SECONDS = 60;
const RECOVERY_SECONDS = 10;
const CAPACITY_CONNECTIONS = 64;
/** Kept connections, more than requests can be under way where the server answers in a second. */
const OPEN_CONNECTIONS = 4_000;
/** Half of what the server can do: the load after the overload. */
const RECOVERY_SHARE = 0.5;
/** The time within which a server without overload answers such a load. */
const CALM_MS = 250;
const LEASES = 20;
const KINDS: readonly Kind[] = ['heartbeat', 'read', 'commit', 'list'];

/**
 * Three times the requests that the server can answer, in an open loop: each is due at its moment, also where those before
 * it have no answer. Clients and server share the machine's cores.
 */
export async function benchOverload({ seconds }: BenchOptions, isQuick: boolean): Promise<object> {
  const server = await BenchServer.start([UNCHECKED, 'ExecutionRuntime:ExternalHandlers:0:HandlerId=work']);
  try {
    await server.preload();
    const clients = new Clients(server.address, await leasesOf(server));
    const closed = { connections: CAPACITY_CONNECTIONS, perSecond: null };
    await clients.run({ ...closed, seconds });
    const before = await memory(server.pid, 'VmHWM');
    const capacity = answered(await clients.run({ ...closed, seconds: 10 }), 10);
    const overloadSeconds = isQuick ? 10 : OVERLOAD_SECONDS;
    const counts = await clients.run({
      seconds: overloadSeconds,
      connections: OPEN_CONNECTIONS,
      perSecond: capacity * FACTOR,
    });
    const highest = await memory(server.pid, 'VmHWM');
    const afterwards = await clients.run({
      seconds: RECOVERY_SECONDS,
      connections: OPEN_CONNECTIONS,
      perSecond: capacity * RECOVERY_SHARE,
    });
    const again = answered(await clients.run({ ...closed, seconds: 10 }), 10);
    await clients.end();
    return {
      bench: 'overload',
      measures: {
        capacity: `answers a second to ${CAPACITY_CONNECTIONS} clients, each of which waits for its answer: 55 % reads, 25 % commits, 10 % lists of 50 runs, 10 % heartbeats`,
        overload: `${FACTOR} times as many requests a second, each at its moment, over ${overloadSeconds} s; the time of an answer begins when the request was due`,
        goodput:
          'answers other than refusals through capacity, over the whole and in the second that had fewest (the first one counts apart)',
        recoveryMs: `at ${RECOVERY_SHARE} of capacity, after the overload: when the last request was due that was refused or took longer than ${CALM_MS} ms`,
      },
      capacityPerSecond: round(capacity),
      goodput: goodputOf(counts, overloadSeconds, capacity),
      answeredMs: latencies(counts),
      byKind: Object.fromEntries(
        KINDS.map((kind) => [kind, sharesOf(counts.filter((one) => one.kind === kind))]),
      ),
      all: sharesOf(counts),
      refusedP99Ms: at(
        counts.filter(({ status }) => status === 503).map(({ tookMs }) => tookMs),
        0.99,
      ),
      recoveryMs: round(
        Math.max(
          0,
          ...afterwards.filter((one) => !isGood(one) || one.tookMs > CALM_MS).map(({ dueMs }) => dueMs),
        ),
      ),
      capacityAgain: round(again / capacity),
      residentMb: { before, highest },
    };
  } finally {
    await server.stop();
  }
}

class Clients {
  readonly #child: ChildProcess;

  constructor(address: string, leases: readonly Lease[]) {
    this.#child = fork('test/bench/overload-child.ts', [address, JSON.stringify(leases)], {
      serialization: 'advanced',
    });
  }

  async run(phase: Phase): Promise<readonly Count[]> {
    this.#child.send(phase);
    const [counts] = (await once(this.#child, 'message')) as [readonly Count[]];
    return counts;
  }

  async end(): Promise<void> {
    this.#child.send('end');
    await once(this.#child, 'exit');
  }
}

async function leasesOf({ client }: BenchServer): Promise<readonly Lease[]> {
  const leases: Lease[] = [];
  for (let n = 0; n < LEASES; n++) {
    const workerId = `worker-${n}`;
    await client.post('/execution/runs', {
      handlerId: 'work',
      scope: { productId: 'bench', tenantId: 'bench' },
    });
    const body = { workerId, handlerIds: ['work'], ttlSeconds: 600 };
    const lease = await client.postJson<Lease>('/execution/workers/leases', body);
    leases.push({ leaseKey: lease.leaseKey, leaseToken: lease.leaseToken, workerId });
  }
  return leases;
}

const isGood = ({ status }: Count): boolean => status >= 200 && status < 300;

function answered(counts: readonly Count[], seconds: number): number {
  return counts.filter(isGood).length / seconds;
}

/** By the second in which the answer came. */
function goodputOf(counts: readonly Count[], seconds: number, capacity: number): object {
  const perSecond = Array<number>(seconds).fill(0);
  for (const { dueMs, tookMs } of counts.filter(isGood)) {
    const second = Math.floor((dueMs + tookMs) / 1000);
    if (second < seconds) perSecond[second] = (perSecond[second] ?? 0) + 1;
  }
  const [first = 0, ...others] = perSecond.map((count) => count / capacity);
  return {
    whole: round(perSecond.reduce((sum, count) => sum + count, 0) / seconds / capacity),
    firstSecond: round(first),
    fewestLater: round(Math.min(...others)),
  };
}

function latencies(counts: readonly Count[]): object {
  const times = counts.filter(isGood).map(({ tookMs }) => tookMs);
  return { p50: at(times, 0.5), p99: at(times, 0.99), longest: at(times, 1) };
}

function sharesOf(counts: readonly Count[]): object {
  const share = (of: (one: Count) => boolean) => round(counts.filter(of).length / counts.length);
  return {
    answered: share(isGood),
    refused: share(({ status }) => status === 503),
    lost: share(({ status }) => status === 0),
    notSent: share(({ status }) => status === -1),
    other: share((one) => !isGood(one) && ![503, 0, -1].includes(one.status)),
    p99Ms: at(
      counts.filter(isGood).map(({ tookMs }) => tookMs),
      0.99,
    ),
  };
}

function at(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
}

async function memory(pid: number | undefined, name: 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return round(Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? Number.NaN) / 1024);
}
