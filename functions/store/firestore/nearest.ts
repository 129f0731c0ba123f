import { FieldPath, type Query, type QueryDocumentSnapshot } from '@google-cloud/firestore';
import { floatsOf } from '../nearest/float-bytes.ts';
import type { Scope } from '../port.ts';
import { StoreError } from '../port.ts';
import type { FoundNearest, NearestRequest } from '../search.ts';
import { similarity } from '../similarity.ts';
import { nearestAt } from './client.ts';
import { grpcCode } from './failures.ts';
import { collectionPath, parseDocumentId } from './layout.ts';
import { NearestProof, type ProvenMatch } from './nearest-proof.ts';
import { type Fixed, reading, readKeysAt, runAt } from './read.ts';
import { indexedValues, slotToken, vectorFieldOf } from './search-fields.ts';
import type { Session } from './session.ts';

/** The most that one search of Firestore gives. */
const foundMax = 1000;
/** Asked for beyond the limit, so that ties and rounding at the limit seldom need a second search. */
const spare = 16;
const rankField = 'distance';
const failedPrecondition = 9;

/**
 * Firestore ranks, this process scores the stored float32 values, and `NearestProof` checks whether a record that was
 * not fetched can be among the nearest; then the search fetches twice as many. Without an index, or without a proof, it
 * reads all vectors of the slot, up to `readsMax`. Firestore bills the index entries of a search in addition: one read
 * for a hundred.
 */
export async function findNearest(
  session: Session,
  scope: Scope,
  fixed: Fixed,
  request: NearestRequest,
): Promise<FoundNearest> {
  if (request.limit <= 0) return { matches: [], complete: true, narrowed: false, reads: 0 };
  return new NearestSearch(session, scope, fixed, request).find();
}

interface Match extends ProvenMatch {
  readonly id: string;
  readonly score: number;
  readonly listingId: Buffer;
}

class NearestSearch {
  readonly #session: Session;
  readonly #scope: Scope;
  readonly #fixed: Fixed;
  readonly #request: NearestRequest;
  readonly #path: string;
  #reads = 0;

  constructor(session: Session, scope: Scope, fixed: Fixed, request: NearestRequest) {
    this.#session = session;
    this.#scope = scope;
    this.#fixed = fixed;
    this.#request = request;
    this.#path = collectionPath(scope, fixed.state.generation, request.collection);
  }

  async find(): Promise<FoundNearest> {
    const { slot, values, limit } = this.#request;
    const field = vectorFieldOf(slot, values.length);
    const ranked = field === undefined || limit >= foundMax ? undefined : await this.#ranked(field);
    const best = ranked ?? (await this.#scanned());
    const matches = (best ?? []).map(({ id, score }) => ({ id, score }));
    return { matches, complete: best !== undefined, narrowed: false, reads: this.#reads };
  }

  get #left(): number {
    return this.#request.readsMax - this.#reads;
  }

  /** By the search of Firestore. `undefined`: it proves nothing. */
  async #ranked(field: string): Promise<Match[] | undefined> {
    const { metric, limit } = this.#request;
    let proof: NearestProof | undefined;
    for (let wanted = limit + spare; ; wanted *= 2) {
      const isLast = wanted >= foundMax;
      const needsLongest = proof === undefined && metric !== 'cosine';
      const size = Math.min(wanted, foundMax, this.#left - (needsLongest ? 1 : 0));
      if (size < limit) return undefined;
      const [found, longest] = await Promise.all([
        this.#search(field, size),
        needsLongest ? this.#longest() : 0,
      ]);
      if (found === undefined) return undefined;
      proof ??= new NearestProof(this.#request, longest);
      if (!proof.isSound(found)) return undefined;
      const best = found.toSorted(byRank).slice(0, limit);
      if (found.length < size) return best;
      const lowest = best.at(-1)?.score ?? Number.NEGATIVE_INFINITY;
      if (proof.ceiling(found.at(-1)?.rank ?? 0) < lowest) return best;
      if (isLast) return undefined;
    }
  }

  /** In the order of Firestore. `undefined`: the database lacks the index. */
  async #search(field: string, limit: number): Promise<Match[] | undefined> {
    const { db } = this.#session;
    const { group, metric, values } = this.#request;
    const query = db
      .collection(this.#path)
      .where('searchGroup', '==', group)
      .select(...this.#fields, rankField)
      .findNearest({
        vectorField: field,
        queryVector: indexedValues({ metric, values }),
        limit,
        distanceMeasure: metric === 'euclidean' ? 'EUCLIDEAN' : 'DOT_PRODUCT',
        distanceResultField: rankField,
      });
    try {
      const { docs } = await reading(this.#session, nearestAt(query, this.#fixed.at));
      if (docs.length === 0) this.#reads += 1;
      return await this.#matches(docs);
    } catch (error) {
      if (error instanceof StoreError && grpcCode(error.cause) === failedPrecondition) return undefined;
      throw error;
    }
  }

  async #longest(): Promise<number> {
    const { docs } = await runAt(this.#session, this.#slot.select(this.#length).limit(1), this.#fixed);
    this.#reads += 1;
    return Number(docs[0]?.get(this.#length) ?? 0);
  }

  /** Scores all vectors of the slot. `undefined`: they need more reads than are left. */
  async #scanned(): Promise<Match[] | undefined> {
    const { limit, group } = this.#request;
    const size = scanPage(this.#request.values.length);
    let best: Match[] = [];
    let query = this.#slot.select(...this.#fields, this.#length, 'searchGroup');
    for (;;) {
      const wanted = Math.min(size, this.#left);
      if (wanted <= 0) return undefined;
      const { docs } = await runAt(this.#session, query.limit(wanted), this.#fixed);
      const own = docs.filter((document) => document.get('searchGroup') === group);
      best = [...best, ...(await this.#matches(own))].sort(byRank).slice(0, limit);
      this.#reads += docs.length === 0 ? 1 : docs.length - own.length;
      const last = docs.at(-1);
      if (last === undefined || docs.length < wanted) return best;
      query = query.startAfter(last.get(this.#length), last.id);
    }
  }

  get #length(): FieldPath {
    return new FieldPath('slots', this.#token);
  }

  get #token(): string {
    return slotToken(this.#request.group, this.#request.slot);
  }

  /** The vectors of the slot, the longest first. */
  get #slot(): Query {
    return this.#session.db
      .collection(this.#path)
      .orderBy(new FieldPath('slots', this.#token), 'desc')
      .orderBy(FieldPath.documentId(), 'desc');
  }

  get #fields(): [FieldPath, string] {
    return [new FieldPath('vectors', this.#request.slot), 'listingId'];
  }

  async #matches(documents: readonly QueryDocumentSnapshot[]): Promise<Match[]> {
    const { metric, values: asked, slot } = this.#request;
    this.#reads += documents.length;
    const listingIds = await this.#listingIdsBeside(documents);
    return documents.map((document) => {
      const bytes: unknown = document.get(new FieldPath('vectors', slot));
      if (!(bytes instanceof Uint8Array))
        throw new StoreError('corrupt', `${document.ref.path} has no vector`);
      const values = floatsOf(bytes, asked.length);
      const { id } = parseDocumentId(document.id);
      const listingId = String(listingIds.get(id) ?? document.get('listingId') ?? '');
      return {
        id,
        score: similarity(metric, asked, values),
        listingId: Buffer.from(listingId),
        values,
        rank: Number(document.get(rankField)),
      };
    });
  }

  /** For records whose search entry has a document of its own. */
  async #listingIdsBeside(documents: readonly QueryDocumentSnapshot[]): Promise<Map<string, string>> {
    const { collection } = this.#request;
    const ids = documents.map(({ id }) => parseDocumentId(id)).filter(({ number }) => number > 0);
    if (ids.length === 0) return new Map();
    const keys = ids.map(({ id }) => ({
      key: { collection, id },
      view: 'head' as const,
      expectAbsent: false,
      unguarded: false,
    }));
    this.#reads += keys.length;
    const { stored } = await readKeysAt(this.#session, this.#scope, keys, this.#fixed);
    return new Map([...stored.values()].map(({ key, fields }) => [key.id, fields.listingId ?? '']));
  }
}

/** By score downwards, then by listing id. */
function byRank(left: Match, right: Match): number {
  if (left.score !== right.score) return right.score - left.score;
  return Buffer.compare(left.listingId, right.listingId) || (left.id < right.id ? -1 : 1);
}

/** About two megabytes, however long the vectors are. */
function scanPage(dimensions: number): number {
  return Math.max(20, Math.min(1000, Math.floor(524_288 / dimensions)));
}
