import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { createRecordParts, type RecordParts } from '../../functions/collections/parts.ts';
import { createCollection } from '../../functions/collections/pointers.ts';
import { readPolicy } from '../../functions/collections/rules/policy.ts';
import { searchRecords } from '../../functions/collections/search-records.ts';
import type { SearchRequest } from '../../functions/collections/search-request.ts';
import { type ChunkItem, writeChunk } from '../../functions/collections/write-chunk.ts';
import { upsertRecord } from '../../functions/collections/write-records.ts';
import { machine } from '../../functions/compose/machine.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { round } from './load.ts';
import {
  type SearchTexts,
  type SearchVectors,
  searchPolicy,
  searchRecord,
  type VectorShape,
} from './search-data.ts';

export const BATCH = 100;
export const SEARCH_SPACE = 'default';
export const SEARCH_LIMITS = {
  readsPerCallMax: 200_000,
  pageRecordsMax: 5_000,
  answerBytesMax: 64 * 1024 * 1024,
};

/** Searches of records in process, without HTTP. */
export class SearchPort {
  readonly #parts: RecordParts;
  readonly #name: string;

  constructor(store: RecordStore, name: string) {
    this.#parts = createRecordParts({
      store: () => Promise.resolve(store),
      world: machine,
      limits: SEARCH_LIMITS,
    });
    this.#name = name;
  }

  async create(shape: VectorShape): Promise<void> {
    await createCollection(this.#parts, SEARCH_SPACE, readPolicy(searchPolicy(this.#name, shape)));
  }

  /** Writes records from `first` on; each time is that of a batch. */
  async load(
    { first, count }: { readonly first: number; readonly count: number },
    vectors: SearchVectors,
    texts: SearchTexts | null,
  ): Promise<number[]> {
    const times: number[] = [];
    for (let from = first; from < first + count; from += BATCH) {
      const items = Array.from({ length: Math.min(BATCH, first + count - from) }, (_, n) => {
        const record = searchRecord(from + n, texts?.of(from + n) ?? null, vectors.of(from + n));
        return { text: JSON.stringify(record) };
      });
      const began = performance.now();
      await this.#write(items);
      times.push(performance.now() - began);
    }
    return times;
  }

  /** In as many transactions as the service makes of them. */
  async #write(items: readonly ChunkItem[]): Promise<void> {
    for (let from = 0; from < items.length; ) {
      const rest = items.slice(from);
      const outcomes = await writeChunk(this.#parts, SEARCH_SPACE, { name: this.#name }, rest, {
        continueOnError: false,
      });
      if (outcomes.some(({ outcome }) => 'error' in outcome))
        throw new Error(`a record was not written: ${JSON.stringify(outcomes.at(-1))}`);
      from += outcomes.length;
    }
  }

  async upsert(text: string): Promise<void> {
    await upsertRecord(this.#parts, SEARCH_SPACE, this.#name, text, null);
  }

  /** The texts of the matches. */
  async search(request: SearchRequest): Promise<readonly string[]> {
    return (await searchRecords(this.#parts, SEARCH_SPACE, this.#name, request)).matches;
  }
}

export interface Pauses {
  /** As a timer of one millisecond sees them. */
  readonly pauseP99Ms: number;
  readonly pauseMaxMs: number;
  /** The longest turn of the event loop by the thread's own processor time, which other programs do not stretch. */
  readonly longestTurnMs: number;
}

/** How long the event loop is held while the work runs. */
export async function pausesOf<Result>(
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly pauses: Pauses }> {
  const histogram = monitorEventLoopDelay({ resolution: 1 });
  await delay(20);
  const turns = new Turns();
  histogram.enable();
  turns.start();
  const result = await work();
  turns.stop();
  histogram.disable();
  const pauses = {
    pauseP99Ms: round(histogram.percentile(99) / 1e6),
    pauseMaxMs: round(histogram.max / 1e6),
    longestTurnMs: round(turns.longestMs),
  };
  return { result, pauses };
}

/** Measures each turn of the event loop. */
class Turns {
  longestMs = 0;
  #isOn = false;
  #before = process.threadCpuUsage();

  start(): void {
    this.#isOn = true;
    this.#before = process.threadCpuUsage();
    setImmediate(() => this.#turn());
  }

  stop(): void {
    this.#turn();
    this.#isOn = false;
  }

  #turn(): void {
    if (!this.#isOn) return;
    const now = process.threadCpuUsage();
    const took = now.user + now.system - this.#before.user - this.#before.system;
    this.longestMs = Math.max(this.longestMs, took / 1000);
    this.#before = now;
    setImmediate(() => this.#turn());
  }
}
