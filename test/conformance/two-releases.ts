import { isDeepStrictEqual } from 'node:util';
import { createRecordParts, type RecordParts } from '../../functions/collections/parts.ts';
import { createCollection } from '../../functions/collections/pointers.ts';
import { sweepStale } from '../../functions/collections/reindex-sweep.ts';
import { readPolicy } from '../../functions/collections/rules/policy.ts';
import type { LexicalRequest } from '../../functions/collections/search/lexical-query.ts';
import { type NaiveRecord, naiveSearch } from '../../functions/collections/search/naive-search.fixture.ts';
import { printedNumber } from '../../functions/collections/search/numbers.ts';
import { searchRecords } from '../../functions/collections/search-records.ts';
import { policyKey, spaceScope } from '../../functions/collections/store-collections.ts';
import { entryMarksKey, UPKEEP_SCOPE } from '../../functions/collections/upkeep-collections.ts';
import { deleteRecord } from '../../functions/collections/write-records.ts';
import { ServiceError } from '../../functions/kernel/errors.ts';
import { parseJson } from '../../functions/kernel/json-text.ts';
import { finished } from '../../functions/kernel/turns.ts';
import { retrieve } from '../../functions/retrieval/retrieve.ts';
import { fuse } from '../../functions/retrieval/rules/fusion.ts';
import { readHybrid } from '../../functions/retrieval/rules/hybrid.ts';
import { readRetrieval } from '../../functions/retrieval/rules/request.ts';
import type { Head, RecordStore } from '../../functions/store/port.ts';
import { similarity } from '../../functions/store/similarity.ts';
import { nextFormats, thisFormat } from './next-entries.ts';
import { type Match, NAME, placeOf, writeAll } from './records-search-stage.ts';
import { limits } from './records-stage.ts';
import { POLICY, RetrievalStage } from './retrieval-stage.ts';

const FIELD = 'contentEmbedding';
const CHUNK = 100;
/** Matches of each of both searches of a hybrid one. */
const HYBRID_CANDIDATES = 50;

export type Verdict = 'equal' | 'refused' | 'wrong';

/** The bugs planted in one release. */
interface Planted {
  readonly store?: (store: RecordStore) => RecordStore;
  readonly parts?: (parts: RecordParts) => RecordParts;
}

export interface Plants {
  readonly older?: Planted;
  readonly newer?: Planted;
}

interface Row extends NaiveRecord {
  readonly vector: Float32Array;
}

type Asked =
  | { readonly by: 'words'; readonly lexical: LexicalRequest }
  | { readonly by: 'vector' | 'hybrid'; readonly text: string };

const stems = ['amber', 'birch', 'cedar', 'daisy', 'elder', 'fjord', 'grove', 'hazel', 'ivory', 'jasper'];
const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
const byKey = (a: Row, b: Row) => byBytes(a.partitionKey, b.partitionKey) || byBytes(a.recordId, b.recordId);

function letters(index: number): string {
  return index < 26
    ? String.fromCharCode(0x61 + index)
    : letters(Math.floor(index / 26) - 1) + letters(index % 26);
}

/**
 * A server of this release and one of a next release over one store, and the answers that every search of both must
 * give.
 */
export class TwoReleases {
  readonly stage: RetrievalStage;
  readonly older: RecordParts;
  readonly newer: RecordParts;
  /** The newer release, whose operator has chosen the older version. */
  readonly pinned: RecordParts;
  readonly #store: RecordStore;
  readonly #words: number;
  readonly #asked: readonly Asked[];
  readonly #rows = new Map<string, Row>();

  constructor(store: RecordStore, records: number, { older, newer }: Plants = {}) {
    this.#store = store;
    this.#words = Math.max(50, Math.ceil(records / 200));
    this.stage = new RetrievalStage(store);
    const { world } = this.stage.records.parts;
    const partsOf = ({ store: plant, parts: change }: Planted = {}, own = {}) => {
      const opened = plant?.(store) ?? store;
      const bounds = { ...limits, readsPerCallMax: 200_000 };
      const parts = createRecordParts({
        store: () => Promise.resolve(opened),
        world,
        limits: bounds,
        ...own,
      });
      return change?.(parts) ?? parts;
    };
    this.older = partsOf(older, { formats: [thisFormat] });
    this.newer = partsOf(newer, { formats: nextFormats });
    this.pinned = partsOf(newer, { formats: nextFormats, entryVersion: thisFormat.version });
    const [a, b, c, d] = [this.#word(10), this.#word(23), this.#word(4), this.#word(37)];
    this.#asked = [
      { by: 'words', lexical: { query: a } },
      { by: 'vector', text: `${b} ${c}` },
      { by: 'words', lexical: { query: `${b} ${c}`, top: 200 } },
      { by: 'words', lexical: { query: this.#textOf(5, 0), matchMode: 'all' } },
      { by: 'hybrid', text: `${c} ${d}` },
      { by: 'words', lexical: { query: `"${this.#textOf(8, 0)}" ${d}` } },
      { by: 'words', lexical: { query: a, requiredPhraseGroups: [[a, b, this.#textOf(9, 1)]] } },
      ...(records > 1_000 ? [] : this.#prefixes()),
    ];
  }

  /** The next format has no term for the second, so that the listing is walked. */
  #prefixes(): readonly Asked[] {
    return ['ambera', 'haz'].map((query) => ({
      by: 'words',
      lexical: { query, prefixMatching: true, top: 500 },
    }));
  }

  #word(n: number): string {
    const at = n % this.#words;
    return `${stems[at % stems.length]}${letters(Math.floor(at / stems.length))}`;
  }

  #textOf(n: number, turn: number): string {
    return [n, n * 7 + 3 + turn, n * n + 11].map((each) => this.#word(each)).join(' ');
  }

  get world() {
    return this.stage.records.world;
  }

  get space(): string {
    return this.stage.space;
  }

  /** Creates the collection. Other tests over the same database have left marks. */
  async begin(parts: RecordParts): Promise<void> {
    const key = entryMarksKey();
    await this.#store.transact(UPKEEP_SCOPE, { keys: [{ key }] }, (found) => ({
      writes: found.get(key) === undefined ? [] : [{ remove: key }],
      result: null,
    }));
    await createCollection(parts, this.space, readPolicy({ name: NAME, ...POLICY }));
  }

  /** Writes records again; `turn` selects their content. */
  async write(parts: RecordParts, numbers: readonly number[], turn = 0): Promise<void> {
    for (let at = 0; at < numbers.length; at += CHUNK) {
      const rows = await this.#rowsOf(numbers.slice(at, at + CHUNK), turn);
      const texts = rows.map(({ text, vector }) => {
        const contentEmbedding = { values: [...vector], distanceFunction: 'cosine' };
        return `${text.slice(0, -1)},"vectors":${JSON.stringify({ contentEmbedding })}}`;
      });
      await writeAll({ parts, space: this.space } as never, texts);
      for (const row of rows) this.#rows.set(row.id, row);
    }
  }

  /** Writes records that no search asks for. */
  async writeAside(parts: RecordParts, first: number): Promise<void> {
    const texts = [0, 1, 2].map((n) =>
      JSON.stringify({ id: `aside${first + n}`, partitionKey: 'p1', content: 'other' }),
    );
    await writeAll({ parts, space: this.space } as never, texts);
  }

  async remove(parts: RecordParts, n: number): Promise<void> {
    const partitionKey = `p${n % 3}`;
    await deleteRecord(parts, this.space, NAME, { partitionKey, id: `r${n}` });
    this.#rows.delete(placeOf({ partitionKey, id: `r${n}` }));
  }

  async #rowsOf(numbers: readonly number[], turn: number): Promise<readonly Row[]> {
    const contents = numbers.map((n) => this.#textOf(n, turn));
    const vectors = await this.#vectors(contents);
    return numbers.map((n, at) => {
      const [partitionKey, recordId] = [`p${n % 3}`, `r${n}`];
      const text = JSON.stringify({
        id: recordId,
        partitionKey,
        type: 'note',
        content: { text: contents[at] },
      });
      return {
        id: placeOf({ partitionKey, id: recordId }),
        partitionKey,
        recordId,
        text,
        vector: vectors[at]!,
      };
    });
  }

  #vectors(texts: readonly string[]): Promise<readonly Float32Array[]> {
    const { embedder } = this.stage;
    return embedder.embed(texts, { purpose: 'document', signal: new AbortController().signal });
  }

  /** `every`: checks one search in this many; `first` is the number of the first one. */
  async verdict(parts: RecordParts, first = 0, every = 1): Promise<Verdict> {
    for (let at = first % every; at < this.#asked.length; at += every) {
      const verdict = await this.#verdictOn(parts, this.#asked[at]!);
      if (verdict !== 'equal') return verdict;
    }
    return 'equal';
  }

  async #verdictOn(parts: RecordParts, asked: Asked): Promise<Verdict> {
    try {
      const found = await this.#found(parts, asked);
      return isDeepStrictEqual(found, await this.#expected(asked)) ? 'equal' : 'wrong';
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'search_index_building') return 'refused';
      if (error instanceof Error && error.message.includes('a lexicon has none of the versions that'))
        return 'wrong';
      throw error;
    }
  }

  async #found(parts: RecordParts, asked: Asked): Promise<readonly unknown[]> {
    if (asked.by === 'hybrid') {
      const hybrid = { vectorCandidateLimit: HYBRID_CANDIDATES, lexicalCandidateLimit: HYBRID_CANDIDATES };
      const request = { query: asked.text, collections: [NAME], searchMode: 'hybrid', limit: 20, hybrid };
      const retrieval = readRetrieval(request, 5_000);
      const { results } = await retrieve({ ...this.stage.parts, records: parts }, this.space, retrieval);
      return results.map(({ record, score }) => [
        placeOf({ partitionKey: record.partitionKey, id: record.id }),
        score,
      ]);
    }
    const search =
      asked.by === 'words'
        ? { lexical: asked.lexical }
        : { vector: { field: FIELD, value: [...(await this.#vectors([asked.text]))[0]!], top: 20 } };
    const { matches } = await searchRecords(parts, this.space, NAME, search);
    return matches.map((text) => {
      const { record, score } = parseJson(text) as Match;
      return [placeOf(record), Math.fround(score)];
    });
  }

  async #expected(asked: Asked): Promise<readonly unknown[]> {
    if (asked.by === 'words') return this.#byWords(asked.lexical).map(({ id, score }) => [id, score]);
    if (asked.by === 'vector')
      return (await this.#byVector(asked.text, 20)).map(({ id, score }) => [id, score]);
    const hit = ({ id, score }: { id: string; score: number }) => ({ id, score: printedNumber(score) });
    const vectors = (await this.#byVector(asked.text, HYBRID_CANDIDATES)).map(hit);
    const lexical = this.#byWords({ query: asked.text, top: HYBRID_CANDIDATES }).map(hit);
    return finished(
      fuse({ vectors: [{ weight: 1, metric: 'cosine', hits: vectors }], lexical }, readHybrid({}, '')),
    )
      .toSorted((a, b) => b.score - a.score || byKey(this.#rows.get(a.id)!, this.#rows.get(b.id)!))
      .slice(0, 20)
      .map(({ id, score }) => [id, score]);
  }

  #byWords(request: LexicalRequest) {
    const words = (request.query ?? '').replaceAll('"', '').split(' ');
    const rows = [...this.#rows.values()].filter(({ text }) => words.some((word) => text.includes(word)));
    const { matches, isLimited } = naiveSearch(rows, request);
    if (isLimited) throw new TypeError('the search has more candidates than it scores');
    return matches;
  }

  async #byVector(text: string, top: number) {
    const [asked] = await this.#vectors([text]);
    return [...this.#rows.values()]
      .map((row) => ({ ...row, score: similarity('cosine', row.vector, asked!) }))
      .sort((a, b) => b.score - a.score || byKey(a, b))
      .slice(0, top);
  }

  /** Upkeep of the given number of pages; answers the number of prepared records. */
  async upkeep(parts: RecordParts, pages = Number.POSITIVE_INFINITY): Promise<number> {
    let left = pages + Math.ceil(pages / 5);
    const isOver = () => {
      left -= 1;
      return left < 0;
    };
    return (await sweepStale(parts, isOver)).records;
  }

  /** The head of the collection's policy record. */
  async head(): Promise<Head> {
    const keys = [{ key: policyKey(NAME) }];
    const { records } = await this.#store.query(spaceScope(this.space), { by: 'keys', keys });
    return records[0]!.head;
  }
}
