import type { NearestMatch, NearestRequest } from '../search.ts';
import { similarityTo } from '../similarity.ts';
import { BestMatches } from './best-matches.ts';
import type { NearestCandidates } from './candidates.ts';
import { floatsOf } from './float-bytes.ts';
import type { LoadedSlot } from './loaded-slot.ts';
import { idsMax, type VectorRows } from './vector-rows.ts';

/** Vectors of the first read at least; each further read takes more, up to `idsMax`. */
const FIRST = 64;

/** Reads vectors of the moment and keeps the best exact scores. */
export class Rescoring {
  readonly best: BestMatches;
  readonly #rows: VectorRows;
  readonly #request: NearestRequest;
  readonly #similarity: (values: Float32Array) => number;
  #reads = 0;

  constructor(rows: VectorRows, request: NearestRequest) {
    this.#rows = rows;
    this.#request = request;
    this.#similarity = similarityTo(request.metric, request.values);
    this.best = new BestMatches(request.limit);
  }

  get reads(): number {
    return this.#reads;
  }

  /** `places` are those of the first records, as far as they are known. `false`: the allowed reads do not suffice. */
  async score(ids: readonly string[], places: readonly number[] = []): Promise<boolean> {
    const { values, readsMax } = this.#request;
    for (let from = 0; from < ids.length; ) {
      const most = Math.min(idsMax, readsMax - this.#reads);
      if (most <= 0) return false;
      const part = ids.slice(from, from + most);
      const found = await this.#rows.vectors(part, places.slice(from, from + most));
      from += part.length;
      this.#reads += found.size;
      for (const [id, bytes] of found) {
        this.best.offer(id, this.#similarity(floatsOf(bytes, values.length)));
      }
      await this.best.prune(this.#rows);
    }
    if (ids.length === 0) await this.best.prune(this.#rows);
    return true;
  }

  result(): Promise<NearestMatch[]> {
    return this.best.result(this.#rows);
  }
}

/** `passed`: the matrix has changed so much that its log no longer reaches back to the moment. */
export type RescoreEnd = 'done' | 'reads' | 'passed';

export interface Rescore {
  readonly rescoring: Rescoring;
  readonly slot: LoadedSlot;
  /** The version of the moment. */
  readonly version: number;
  readonly candidates: NearestCandidates;
  /** `null`: all records. */
  readonly among: ReadonlySet<string> | null;
  readonly turn: () => Promise<void>;
}

/** Scores the candidates of a scan from the vectors of the moment, and the records that the matrix has at another version. */
export async function rescore(work: Rescore): Promise<RescoreEnd> {
  const { rescoring, slot, version, candidates, turn } = work;
  const { best } = rescoring;
  const seen = new Set<string>();
  // Rows with the best lower bounds come first: their exact scores exclude most others.
  const holders = new Set(candidates.holders);
  const { positions, uppers, scores } = candidates.rows();
  let most = Math.min(idsMax, Math.max(FIRST, holders.size));
  for (const areHolders of [true, false]) {
    let changed = slot.log.idsAbove(version);
    let batch: Batch = { ids: [], places: [] };
    let passed = 0;
    for (let at = 0; at < positions.length; at += 1) {
      const position = positions[at]!;
      if (uppers[at]! < best.worst || holders.has(position) !== areHolders) continue;
      const id = slot.matrix.idAt(position);
      if (changed?.has(id) === true) continue;
      const score = scores[at]!;
      if (Number.isNaN(score)) {
        batch.ids.push(id);
        batch.places.push(slot.matrix.placeAt(position));
      } else best.offer(id, score);
      // The read is not repeated after a further change.
      seen.add(id);
      passed += 1;
      if (passed < most) continue;
      const end = await scoreWithChanged(work, batch, seen);
      if (end !== 'done') return end;
      await turn();
      changed = slot.log.idsAbove(version);
      batch = { ids: [], places: [] };
      passed = 0;
      most = Math.min(idsMax, 4 * most);
    }
    const end = await scoreWithChanged(work, batch, seen);
    if (end !== 'done') return end;
  }
  return 'done';
}

interface Batch {
  readonly ids: string[];
  /** The places of the same records. */
  readonly places: number[];
}

/** Scores these rows, and rows that changed since. */
async function scoreWithChanged(
  { rescoring, slot, version, among }: Rescore,
  { ids, places }: Batch,
  seen: Set<string>,
): Promise<RescoreEnd> {
  const changed = slot.log.idsAbove(version);
  if (changed === null) return 'passed';
  const further = [...changed].filter((id) => !seen.has(id) && (among === null || among.has(id)));
  for (const id of [...further, ...ids]) seen.add(id);
  return (await rescoring.score([...ids, ...further], places)) ? 'done' : 'reads';
}
