import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RunSuspended } from '../../functions/runs/plugin.ts';
import type { BenchOptions } from './canonical-http.ts';
import { BareJobs } from './execution-bare.ts';
import { type BenchHandlers, BenchRuntime } from './execution-runtime.ts';
import { type Measurement, measure, medianNumber, medianOf, round } from './load.ts';

const NAP_MS = 10;
const WARMUP_SECONDS = 0.3;

/** The number of waiting runs, and of timers among them that come due at one moment. */
const WAITING = 10_000;
const TIMERS = 1_000;
/** Enough for all of them to wait before the moment comes; checked, not trusted. */
const AHEAD_MS = 10_000;
const STARTERS = 50;

/** Called when a run is parked, so that no polling is needed. */
let parked: (name: string) => void = () => undefined;

/** The wait, and word of it when it parks the run. */
async function telling(name: string, wait: Promise<unknown>): Promise<void> {
  try {
    await wait;
  } catch (error) {
    if (error instanceof RunSuspended) parked(name);
    throw error;
  }
}

const handlers: BenchHandlers = [
  {
    handlerId: 'nap',
    async run(context) {
      await context.waitForTimer('nap', new Date(Date.now() + NAP_MS));
      return { woken: true };
    },
  },
  {
    handlerId: 'event',
    async run(context) {
      await telling(context.payload as string, context.waitForExternalEvent('go'));
      return { reported: true };
    },
  },
  {
    handlerId: 'due',
    async run(context) {
      await telling('due', context.waitForTimer('due', new Date(Number(context.payload))));
      woken += 1;
      return { woken: true };
    },
  },
];

let woken = 0;

/** A sleep of 10 ms, an event that a run waits for, and a thousand timers that come due at once among ten thousand runs. */
export async function benchExecutionWaits({ seconds, rounds }: BenchOptions): Promise<object> {
  const sleeps: Measurement[] = [];
  const events: Measurement[] = [];
  const bursts: number[] = [];
  const flushes: Measurement[] = [];
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-flush-'));
  const bare = new BareJobs(join(folder, 'flush.sqlite'), false);
  const runtime = await BenchRuntime.open(handlers);
  try {
    for (let n = 0; n < rounds; n++) {
      const one = { clients: 1, seconds, warmupSeconds: WARMUP_SECONDS };
      flushes.push(await measure({ ...one, call: async () => void (await bare.start('{}')) }));
      sleeps.push(await measure({ ...one, call: () => runtime.run('nap') }));
      events.push(await measure({ ...one, call: () => eventRoundTrip(runtime) }));
    }
  } finally {
    await runtime.close();
    bare.close();
    await rm(folder, { recursive: true, force: true });
  }
  for (let n = 0; n < rounds; n++) bursts.push(await burst());
  return {
    bench: 'execution-waits',
    measures: {
      flush:
        'the bare limit: one row inserted in one transaction, synchronous=FULL; a sleep and an event are six durable changes each',
      sleep: `start of a run, durable timer of ${NAP_MS} ms, result; milliseconds, one client`,
      event:
        'start, wait for an event, the event raised once the run is parked, result; milliseconds, one client',
      burst: `${WAITING} waiting runs, ${TIMERS} of them with timers of one moment: milliseconds from then until all ended`,
    },
    results: {
      flush: medianOf(flushes),
      sleep: medianOf(sleeps),
      event: medianOf(events),
      burstMs: round(medianNumber(bursts)),
    },
  };
}

let named = 0;

async function eventRoundTrip(runtime: BenchRuntime): Promise<void> {
  const own = String(named++);
  const waits = new Promise<void>((resolve) => {
    parked = (name) => {
      if (name === own) resolve();
    };
  });
  const id = await runtime.start('event', own);
  await waits;
  await runtime.client.raise(id, { name: 'go' });
  await runtime.ended(id);
}

/** Milliseconds from the moment of the timers until the last of their runs has ended. */
async function burst(): Promise<number> {
  const runtime = await BenchRuntime.open(handlers);
  try {
    await allParked(WAITING - TIMERS, () => runtime.start('event', 'burst'));
    const dueAt = Date.now() + AHEAD_MS;
    woken = 0;
    const ids = await allParked(TIMERS, () => runtime.start('due', dueAt));
    if (Date.now() >= dueAt) throw new Error('the moment came before all runs waited for it');
    await Promise.all(ids.map((id) => runtime.ended(id)));
    if (woken !== TIMERS) throw new Error(`${woken} handlers were woken`);
    return Date.now() - dueAt;
  } finally {
    await runtime.close();
  }
}

/** Starts `count` runs, and resolves with their ids when all of them wait. */
async function allParked(count: number, start: () => Promise<string>): Promise<string[]> {
  let left = count;
  const all = new Promise<void>((resolve) => {
    parked = () => {
      left -= 1;
      if (left === 0) resolve();
    };
  });
  const ids = await inParallel(count, start);
  await all;
  return ids;
}

async function inParallel<T>(count: number, make: () => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  let next = 0;
  const starter = async () => {
    for (; next < count; ) {
      next += 1;
      made.push(await make());
    }
  };
  await Promise.all(Array.from({ length: STARTERS }, starter));
  return made;
}
