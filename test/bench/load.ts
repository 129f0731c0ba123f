/** The measurement of a closed loop of clients. Rates are per second, times in milliseconds. */
export interface Measurement {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface LoadOptions {
  readonly clients: number;
  readonly seconds: number;
  readonly warmupSeconds: number;
  /** One unit of work; gets the number of its client and how many units that client has done. */
  readonly call: (client: number, count: number) => Promise<void>;
}

/** Each client starts its next call when the last one was answered. The warm-up is not counted. */
export async function measure({ clients, seconds, warmupSeconds, call }: LoadOptions): Promise<Measurement> {
  await loop(clients, warmupSeconds, call);
  const startedAt = performance.now();
  const times = await loop(clients, seconds, call);
  const elapsed = (performance.now() - startedAt) / 1000;
  return summarize(times, elapsed);
}

async function loop(clients: number, seconds: number, call: LoadOptions['call']): Promise<number[]> {
  const until = performance.now() + seconds * 1000;
  const times: number[] = [];
  const client = async (number: number) => {
    for (let count = 0; performance.now() < until; count++) {
      const startedAt = performance.now();
      await call(number, count);
      times.push(performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, number) => client(number)));
  return times;
}

export function summarize(times: readonly number[], elapsedSeconds: number): Measurement {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { perSecond: round(times.length / elapsedSeconds), p50Ms: round(at(0.5)), p99Ms: round(at(0.99)) };
}

/** The round with the median rate: on shared machines the best round is mostly luck. */
export function medianOf(rounds: readonly Measurement[]): Measurement {
  const sorted = rounds.toSorted((a, b) => a.perSecond - b.perSecond);
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (middle === undefined) throw new Error('nothing was measured');
  return middle;
}

export function medianNumber(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

export function round(value: number): number {
  return Number(value.toPrecision(4));
}
