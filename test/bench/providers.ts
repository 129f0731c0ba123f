import type { Bare } from './bare.ts';
import { type BenchOptions, UNCHECKED } from './canonical-http.ts';
import { type BenchDatabase, type BenchProvider, startProvider } from './databases.ts';
import { type Measurement, measure, medianNumber, medianOf, round } from './load.ts';
import { BenchServer } from './server.ts';
import { BenchTenant } from './tenant.ts';
import { commitBody } from './workload.ts';

const CLIENTS = [1, 32] as const;
const WARMUP_SECONDS = 0.5;

/**
 * The same commit on every provider: at the port (the operation in this process, its rules and the store) and over HTTP,
 * by 1 and by 32 clients, beside the rows of the same commit written by the driver alone. One database a way, so that
 * none is slowed by what another has written; the measurements of a round follow one another.
 */
export async function benchProviders({ seconds, rounds, providers: chosen }: BenchOptions): Promise<object> {
  const results: Record<string, object> = {};
  for (const name of chosen) {
    const provider = await startProvider(name);
    console.error(`providers: ${provider.name} …`);
    try {
      results[provider.name] = await benchProvider(provider, seconds, rounds);
    } finally {
      await provider.stop();
    }
  }
  return {
    bench: 'providers',
    measures: {
      bare: 'the rows of one commit by the driver alone; see about',
      port: 'the operation commitCanonicalTransaction in process, without HTTP',
      http: `POST transactions on an embedded server in a process of its own; ${UNCHECKED}`,
      twoTrips: 'the same rows by the driver alone in two round trips, one that reads and one that writes',
      ofBare: 'rate beside bare with as many clients, in the same round',
      ofTwoTrips: 'rate beside twoTrips, likewise',
    },
    results,
  };
}

async function benchProvider(provider: BenchProvider, seconds: number, rounds: number): Promise<object> {
  const [port, http, bare] = await Promise.all([portOf(provider), httpOf(provider), bareOf(provider)]);
  const { twoTrips } = bare;
  // Beside each other, so that what the machine does in between touches them alike.
  const ways: Record<string, Pick<Way, 'commit'>> = {
    bare,
    ...(twoTrips === undefined ? {} : { twoTrips: { commit: twoTrips } }),
    port,
    http,
  };
  const figures: Record<string, Measurement[]> = {};
  const ratios: Record<string, number[]> = {};
  const tripRatios: Record<string, number[]> = {};
  try {
    for (let n = 0; n < rounds; n++) {
      for (const clients of CLIENTS) {
        const rates: Record<string, number> = {};
        for (const [name, way] of Object.entries(ways)) {
          const figure = await measure({
            clients,
            seconds,
            warmupSeconds: WARMUP_SECONDS,
            call: () => way.commit(),
          });
          (figures[`${name}@${clients}`] ??= []).push(figure);
          rates[name] = figure.perSecond;
          const of = (other: string) => figure.perSecond / (rates[other] ?? Number.NaN);
          (ratios[`${name}@${clients}`] ??= []).push(of('bare'));
          if (twoTrips !== undefined && name !== 'bare') {
            (tripRatios[`${name}@${clients}`] ??= []).push(of('twoTrips'));
          }
        }
      }
    }
  } finally {
    for (const way of [bare, port, http]) await way.close();
  }
  const shown = Object.entries(figures).map(([name, each]) => [
    name,
    {
      ...medianOf(each),
      ofBare: round(medianNumber(ratios[name] ?? [])),
      ...(tripRatios[name] === undefined ? {} : { ofTwoTrips: round(medianNumber(tripRatios[name])) }),
    },
  ]);
  return { about: provider.about, bareIs: bare.about, ...Object.fromEntries(shown) };
}

interface Way {
  commit(): Promise<void>;
  close(): Promise<void>;
}

async function portOf(provider: BenchProvider): Promise<Way> {
  const store = await (await provider.database()).open();
  const tenant = new BenchTenant(store);
  await tenant.preload();
  return { commit: () => tenant.commit(commitBody()), close: () => store.close() };
}

async function httpOf(provider: BenchProvider): Promise<Way> {
  const { settings } = await provider.database();
  const server = await BenchServer.start([UNCHECKED, ...settings]);
  await server.preload();
  return {
    commit: async () => void (await server.post('/transactions', commitBody())),
    close: () => server.stop(),
  };
}

async function bareOf(provider: BenchProvider): Promise<Bare> {
  const database = await provider.database();
  await makeTables(database);
  return database.bare();
}

async function makeTables(database: BenchDatabase): Promise<void> {
  const store = await database.open();
  await store.ping();
  await store.close();
}
