import { readFile } from 'node:fs/promises';
import { type Measurement, round, summarize } from './load.ts';
import { kindOf, SearchTexts, SearchVectors, type VectorShape } from './search-data.ts';

/** The subject of every search measurement; a child process gets it as JSON. */
export interface SearchTask {
  readonly vectors: number;
  readonly queries: number;
  /** Records that are written one after the other. */
  readonly singles: number;
  /** Where the measurement may write. */
  readonly folder: string;
  /** The file with the ids of the nearest records of each query, by brute force. */
  readonly nearestFile: string;
  /** Where the package of a peer is installed. */
  readonly peers: string;
}

export const SHAPE: VectorShape = { dimensions: 384, clustered: true };
export const TOP = 10;
/** The records that hold a word of the query, as shares of all. */
export const LEXICAL = { candidates5Percent: 0.05, candidatesHalfPercent: 0.005 } as const;

/** A program that is measured, in its own words. */
export interface Searcher {
  /** Ids of the nearest records, the nearest first. `kind`: among those of the kind. */
  nearest(vector: Float32Array, kind: string | null): Promise<readonly number[]>;
  /** How many records it answers for the words; absent: it has no search for words. */
  readonly lexical?: (words: string) => Promise<number>;
}

/** `processorMs`: of all threads, a call. It changes little while other programs use the machine. */
type Figure = Omit<Measurement, 'perSecond'> & { readonly processorMs: number };

/** The searches of every program: the same vectors, the same words, the same top. */
export async function measureSearcher(
  { vectors: count, queries, nearestFile }: SearchTask,
  searcher: Searcher,
): Promise<object> {
  const expected = JSON.parse(await readFile(nearestFile, 'utf8')) as readonly number[][];
  const data = new SearchVectors(SHAPE);
  const asked = Array.from({ length: queries }, (_, n) => data.query(n));
  const found: (readonly number[])[] = [];
  const exact = await timeCalls(queries, async (n) => {
    found[n] = await searcher.nearest(asked[n]!, null);
  });
  const filtered = await timeCalls(queries, async (n) => {
    const ids = await searcher.nearest(asked[n]!, kindOf(n));
    if (count >= 100 * TOP && ids.length !== TOP) throw new Error(`the filter left ${ids.length} records`);
  });
  return {
    exact: { ...exact, recall: recallOf(found, expected) },
    filteredOnePercent: filtered,
    ...(searcher.lexical === undefined ? {} : await measureWords({ queries }, searcher.lexical)),
  };
}

export async function measureWords(
  { queries }: Pick<SearchTask, 'queries'>,
  lexical: (words: string) => Promise<number>,
): Promise<object> {
  const texts = new SearchTexts();
  const figures: Record<string, Figure> = {};
  for (const [name, share] of Object.entries(LEXICAL)) {
    figures[name] = await timeCalls(Math.ceil(queries / 2), async (n) => {
      if ((await lexical(texts.query(share, n))) === 0) throw new Error('no record holds the words');
    });
  }
  return { lexical: figures };
}

/** Calls one after the other; as many as a fifth warm up before. */
export async function timeCalls(count: number, call: (n: number) => Promise<void>): Promise<Figure> {
  for (let n = 0; n < Math.ceil(count / 5); n += 1) await call(n);
  const times: number[] = [];
  const before = process.cpuUsage();
  for (let n = 0; n < count; n += 1) {
    const began = performance.now();
    await call(n);
    times.push(performance.now() - began);
  }
  const { user, system } = process.cpuUsage(before);
  const { p50Ms, p99Ms } = summarize(times, 1);
  return { p50Ms, p99Ms, processorMs: round((user + system) / 1000 / count) };
}

/** The share of the `top` places that hold one of the nearest records; `nearest` has more than `top` where the last places tie. */
export function recallOf(
  found: readonly (readonly number[])[],
  nearest: readonly (readonly number[])[],
  top = TOP,
): number {
  let hits = 0;
  let places = 0;
  for (const [n, ids] of found.entries()) {
    hits += new Set(ids.filter((id) => nearest[n]!.includes(id))).size;
    places += Math.min(top, nearest[n]!.length);
  }
  return hits / places;
}
