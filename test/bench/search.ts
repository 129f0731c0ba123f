import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { installPeer, reasonOf } from './install-peer.ts';
import { PEERS, type Peer } from './search-peers.ts';
import { type SearchTask, SHAPE } from './search-task.ts';

const run = promisify(execFile);
/** The longest time of one program; a run of all is to end within a quarter of an hour. */
const PART_MS = 420_000;
const HEAP_MIB = 8192;
/** Records of PostgreSQL, which takes six times as long to write them. */
const POSTGRES_PART = 5;
const OUTPUT_BYTES = 1024 * 1024;

export interface SearchBench {
  readonly vectors: number;
  readonly queries: number;
  /** The parts to measure, of: bare, sqlite, postgresql, http, and the peers. */
  readonly parts: readonly string[];
}

export const SEARCH_PARTS = ['bare', 'sqlite', 'http', 'postgresql', ...Object.keys(PEERS)];

const limits = {
  port: {
    upsertsPerSecond: 2000,
    exactMs: [4, 12],
    filteredOnePercentMs: [2, 8],
    lexicalP50Ms: { candidates5Percent: 60, candidatesHalfPercent: 8 },
    singleP50Ms: 1.5,
    pauseP99Ms: 10,
    bytesPerRow: 412,
  },
  http: { upsertsPerSecond: 1500, exactMs: [6, 20] },
};

/**
 * Searches beside those of others: each program in a process of its own, one after the other, over the same vectors and
 * words. Prints a line for each as it ends.
 */
export async function benchSearch({ vectors, queries, parts }: SearchBench): Promise<object> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-search-'));
  const measured: string[] = [];
  try {
    // Every answer is compared with that of brute force.
    for (const part of ['bare', ...parts.filter((each) => each !== 'bare')]) {
      const count = part === 'postgresql' ? Math.max(1000, vectors / POSTGRES_PART) : vectors;
      const nearestFile = join(folder, `nearest-${count}.json`);
      const taskOf = (name: string) => ({
        vectors: count,
        queries,
        singles: queries,
        folder: join(folder, name),
        nearestFile,
        peers: resolve('dist/bench-peers', part),
      });
      await mkdir(join(folder, part));
      // Brute force over as many records, which is a figure of its own where they are all.
      if (!existsSync(nearestFile) && part !== 'bare') await measurePart('bare', taskOf('bare'));
      const figures = await measurePart(part, taskOf(part));
      console.log(JSON.stringify({ bench: 'search', part, vectors: count, ...figures }));
      measured.push(part);
    }
    return {
      bench: 'search',
      measures: {
        write: 'upserts in batches of 100 with vectors and 200 words, all indexes; over HTTP as jobs',
        exact: 'the 10 nearest of all records by cosine, with the records; recall beside brute force',
        filteredOnePercent: 'the 10 nearest of one record in a hundred, by an indexed equality',
        lexical: 'the best 10 of three words, one of which 5 % or half a percent of all records hold',
        single: 'one upsert after the other',
        kernelMs:
          'the kernel reads the matrix once and chooses nothing: what the memory of the machine allows for exact',
        pauses: 'how long the event loop is held during exact searches, as a timer of 1 ms sees it',
        bare: 'float32 brute force in JavaScript',
      },
      vectors,
      dimensions: SHAPE.dimensions,
      limits,
      parts: measured,
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function measurePart(part: string, task: SearchTask): Promise<object> {
  const peer = PEERS[part as Peer];
  if (peer !== undefined) {
    const failure = await installPeer(task.peers, peer);
    if (failure !== null) return { notInstalled: failure, recorded: peer.recorded };
  }
  const child = resolve(import.meta.dirname, 'search-child.ts');
  const flags = [`--max-old-space-size=${HEAP_MIB}`, child, part, JSON.stringify(task)];
  try {
    const { stdout } = await run(process.execPath, flags, { maxBuffer: OUTPUT_BYTES, timeout: PART_MS });
    return JSON.parse(stdout) as object;
  } catch (error) {
    // The others are measured all the same: a machine may lack a database, or memory for a peer.
    const isOptional = peer !== undefined || part === 'postgresql';
    if (!isOptional) throw error;
    return { failed: reasonOf(error), ...(peer === undefined ? {} : { recorded: peer.recorded }) };
  }
}
