import type { AttemptBytes, ReadCall } from '../collections/read-call.ts';
import type { RecordValue } from '../collections/rules/record-key.ts';
import { orderKey } from '../collections/rules/record-key.ts';
import { etagOf } from '../collections/rules/record-stamp.ts';
import { namedRecord, recordValue, type StoredText } from '../collections/rules/stored-text.ts';
import type { ResultIdentity } from '../collections/search/diagnostics.ts';
import { printedNumber } from '../collections/search/numbers.ts';
import type { RankedRecord } from '../collections/search-answer.ts';
import { inSearchMoment, type SearchMoment, searchAdvice } from '../collections/search-moment.ts';
import { type SearchReader, textsOf } from '../collections/search-reader.ts';
import type { SearchRequest } from '../collections/search-request.ts';
import type { JsonObject } from '../kernel/canonical-json.ts';
import { inTurns } from '../kernel/turns.ts';
import { compareUtf8 } from '../kernel/utf8-order.ts';
import type { RetrievalParts } from './parts.ts';
import type { QueryVectors } from './query-vectors.ts';
import { type CandidateLimits, candidateLimits } from './rules/candidate-limits.ts';
import type { CandidateCounts } from './rules/diagnostics.ts';
import { cutAt, type Fused, fuse, type Hit, isInKeyOrder } from './rules/fusion.ts';
import type { CollectionPlace } from './rules/merge.ts';
import type { Retrieval } from './rules/request.ts';
import { type PlannedVector, planVectors } from './rules/vector-plan.ts';

/** A record that a retrieval found. */
export interface FoundRecord extends CollectionPlace {
  readonly type: string;
  readonly score: number;
  readonly fused: Fused;
  /** The record in answers. */
  readonly json: string;
  /** The record without its vectors. */
  readonly value: RecordValue;
  readonly identity: ResultIdentity;
  /** The explanation of the search by words; `null` if it did not find the record, and without a trace. */
  readonly lexical: JsonObject | null;
}

/** The part of one collection in a retrieval. */
export interface FoundCollection {
  readonly pool: CandidateCounts;
  readonly fields: readonly { readonly field: string; readonly metric: PlannedVector['slot']['metric'] }[];
  /** At most the pool size of the retrieval, in any order. */
  readonly records: readonly FoundRecord[];
}

/** Runs all searches of the retrieval in one collection as of one moment, and reads the best records. */
export function searchCollection(
  { records, embeddings }: RetrievalParts,
  space: string,
  name: string,
  { retrieval, vectors }: { readonly retrieval: Retrieval; readonly vectors: QueryVectors | null },
  call: ReadCall,
): Promise<FoundCollection> {
  const limits = candidateLimits(retrieval);
  const answer = async (at: SearchMoment): Promise<FoundCollection> => {
    const { policy } = at.collection;
    const plan = planVectors(retrieval.vectors, policy, embeddings.embedder.dimensions);
    const searches = searchesOf(retrieval, plan, { limits, values: vectors?.values ?? [] });
    const ranked: (readonly RankedRecord[])[] = [];
    // The searches run one after the other, because a moment is one connection to its store.
    for (const request of searches) {
      const search = at.read(request, retrieval.pointer);
      ranked.push(await at.rank(at.reader(searchAdvice(search)), search, limits.pool));
    }
    const byVector = ranked.slice(0, plan.length);
    const byWords = retrieval.lexical === null ? null : (ranked.at(-1) ?? []);
    const hits = byVector.map((each, index) => ({
      weight: retrieval.vectors[index]!.weight,
      metric: plan[index]!.slot.metric,
      hits: each.map(hitOf),
    }));
    const searched = { vectors: hits, lexical: byWords?.map(hitOf) ?? null };
    const fused = await inTurns(fuse(searched, retrieval.hybrid), records.world.turns.of(space));
    const diagnosed = retrieval.includeTrace ? new Map((byWords ?? []).map((each) => [each.id, each])) : null;
    const found = await readBest(at.reader(searchAdvice({ mode: 'vector' })), name, fused, {
      retrieval,
      most: limits.pool,
      diagnosed,
    });
    return {
      pool: poolOf(name, plan, { byVector, byWords, merged: fused.length }),
      fields: plan.map(({ field, slot }) => ({ field, metric: slot.metric })),
      records: found,
    };
  };
  return inSearchMoment(records, space, name, answer, call);
}

function hitOf({ id, score }: RankedRecord): Hit {
  return { id, score: printedNumber(score) };
}

function searchesOf(
  { partitionKeys, filter, mode, vectors, lexical, minScore }: Retrieval,
  plan: readonly PlannedVector[],
  { limits, values }: { readonly limits: CandidateLimits; readonly values: QueryVectors['values'] },
): readonly SearchRequest[] {
  const condition = { partitionKeys, filter };
  // The final score of a single search is its own score, so records below the least score need no rank.
  const least = (own: number | null | undefined, isOnly: boolean) =>
    isOnly && minScore !== null ? Math.max(own ?? minScore, minScore) : (own ?? null);
  const isOnly = mode === 'vector' && plan.length === 1;
  const byVector = plan.map(({ field }, index) => ({
    ...condition,
    vector: {
      field,
      value: values[index] ?? [],
      top: limits.vectors[index]!,
      minScore: least(vectors[index]!.minScore, isOnly),
    },
  }));
  if (lexical === null) return byVector;
  const words = { ...lexical, top: limits.lexical, minScore: least(lexical.minScore, mode === 'lexical') };
  return [...byVector, { ...condition, lexical: words }];
}

interface Best {
  readonly retrieval: Retrieval;
  readonly most: number;
  readonly diagnosed: ReadonlyMap<string, RankedRecord> | null;
}

/** Reads the best records. If records with one score compete for the last places, all are read, because their keys decide. */
async function readBest(
  reader: SearchReader,
  collection: string,
  fused: readonly Fused[],
  { retrieval, most, diagnosed }: Best,
): Promise<readonly FoundRecord[]> {
  const { sure, tied, room } = cutAt(fused, most, retrieval.minScore);
  const isKnown = isInKeyOrder(tied);
  const wanted = new Map([...sure, ...(isKnown ? tied.slice(0, room) : [])].map((each) => [each.id, each]));
  const found: FoundRecord[] = [];
  const read = async (all: ReadonlyMap<string, Fused>, keep: (record: FoundRecord) => void) => {
    for await (const { id, stored } of textsOf(reader, [...all.keys()]))
      keep(foundRecord(collection, all.get(id)!, { stored, ranked: diagnosed?.get(id) ?? null }));
  };
  const { bytes } = reader;
  await read(wanted, (record) => {
    bytes.add(heldBytes(record));
    found.push(record);
  });
  if (isKnown || room === 0) return found;
  const last = new FirstPlaces(room, bytes);
  await read(new Map(tied.map((each) => [each.id, each])), (record) => last.offer(record));
  return [...found, ...last.first()];
}

/** The approximate bytes of a record's text and its parsed values. */
function heldBytes({ json }: FoundRecord): number {
  return 3 * json.length;
}

interface KeyedRecord {
  readonly record: FoundRecord;
  readonly key: string;
}

/** The first records of many in the order of their keys. */
class FirstPlaces {
  readonly #room: number;
  readonly #bytes: AttemptBytes;
  #first: readonly KeyedRecord[] = [];
  #offered: KeyedRecord[] = [];

  constructor(room: number, bytes: AttemptBytes) {
    this.#room = room;
    this.#bytes = bytes;
  }

  /** Sorts once each time the places are full: a sort for each record would take too long. */
  offer(record: FoundRecord): void {
    this.#bytes.add(heldBytes(record));
    // Computing both keys in each comparison would take longer than the sort.
    this.#offered.push({ record, key: orderKey(record) });
    if (this.#offered.length > this.#room) this.first();
  }

  first(): readonly FoundRecord[] {
    const all = [...this.#first, ...this.#offered].sort((a, b) => compareUtf8(a.key, b.key));
    for (const { record } of all.slice(this.#room)) this.#bytes.drop(heldBytes(record));
    this.#first = all.slice(0, this.#room);
    this.#offered = [];
    return this.#first.map(({ record }) => record);
  }
}

function foundRecord(
  collection: string,
  fused: Fused,
  { stored, ranked }: { readonly stored: StoredText; readonly ranked: RankedRecord | null },
): FoundRecord {
  const { id, partitionKey, type, json } = namedRecord(stored);
  const { revision } = stored;
  const identity = { collection, partitionKey, id, type, etag: etagOf(revision), revision };
  const value = recordValue(stored, { vectors: false });
  const lexical = ranked === null ? null : ranked.diagnose(identity);
  return { collection, partitionKey, id, type, score: fused.score, fused, json, value, identity, lexical };
}

function poolOf(
  collection: string,
  plan: readonly PlannedVector[],
  found: {
    readonly byVector: readonly (readonly RankedRecord[])[];
    readonly byWords: readonly RankedRecord[] | null;
    readonly merged: number;
  },
): CandidateCounts {
  const byField = plan.map(({ field }, index) => [field, found.byVector[index]!.length] as const);
  return {
    collection,
    vectorCandidates: new Set(found.byVector.flatMap((each) => each.map(({ id }) => id))).size,
    vectorCandidatesByField: Object.fromEntries(byField),
    lexicalCandidates: found.byWords?.length ?? 0,
    mergedCandidates: found.merged,
  };
}
