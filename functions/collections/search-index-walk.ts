import { compareUtf8 } from '../kernel/utf8-order.ts';
import type { RecordData } from '../store/port.ts';
import type { NearestMatch } from '../store/search.ts';
import { similarity } from '../store/similarity.ts';
import { candidatesOf, inRange } from './candidates.ts';
import { isAdmitted } from './judge-records.ts';
import type { RecordQuery } from './page-request.ts';
import { vectorIn } from './rules/stored-text.ts';
import { isNear, type VectorQuery } from './search/vector-query.ts';
import type { SearchReader } from './search-reader.ts';
import { storedText } from './stored-content.ts';

/** Memory of a match, about. */
export const MATCH_BYTES = 128;

interface ListedMatch extends NearestMatch {
  readonly orderKey: string;
}

/** Scores the records that an index finds, one after the other. */
export class IndexWalk {
  readonly #reader: SearchReader;
  readonly #query: RecordQuery;
  readonly #vector: VectorQuery;
  readonly #found: AsyncGenerator<RecordData, void, undefined>;
  readonly #matches: ListedMatch[] = [];
  #read = 0;

  constructor(reader: SearchReader, query: RecordQuery, vector: VectorQuery) {
    const { driver } = query;
    this.#reader = reader;
    this.#query = query;
    this.#vector = vector;
    this.#found =
      driver.by === 'range' ? inRange(reader, driver) : candidatesOf(reader, driver, null, vector.top);
  }

  /** Continues until it has read `records` records. Returns whether the index has no others. */
  async reachesEnd(records: number): Promise<boolean> {
    for (; this.#read < records; this.#read += 1) {
      const { value } = await this.#found.next();
      if (value === undefined) return true;
      await this.#add(value);
    }
    return false;
  }

  /** The nearest of the records read so far, the nearest first. */
  best(): readonly NearestMatch[] {
    return this.#matches
      .toSorted((a, b) => b.score - a.score || compareUtf8(a.orderKey, b.orderKey))
      .slice(0, this.#vector.top)
      .map(({ id, score }) => ({ id, score }));
  }

  async #add(data: RecordData): Promise<void> {
    const { bytes } = this.#reader;
    const { field, metric, values: asked } = this.#vector;
    const stored = storedText(data);
    if (!(await isAdmitted(this.#reader, stored, this.#query))) return;
    const values = vectorIn(stored, field);
    if (values === null) return;
    const score = similarity(metric, values, asked);
    if (!isNear(score, this.#vector)) return;
    bytes.add(MATCH_BYTES);
    this.#matches.push({ id: data.key.id, score, orderKey: data.listing?.id ?? '' });
  }
}
