import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { createRecordParts, type RecordParts } from '../../functions/collections/parts.ts';
import { createCollection } from '../../functions/collections/pointers.ts';
import { sweepStale } from '../../functions/collections/reindex-sweep.ts';
import { readPolicy } from '../../functions/collections/rules/policy.ts';
import { searchRecords } from '../../functions/collections/search-records.ts';
import type { SearchRequest } from '../../functions/collections/search-request.ts';
import { POLICIES } from '../../functions/collections/store-collections.ts';
import { writeChunk } from '../../functions/collections/write-chunk.ts';
import type { JsonObject } from '../../functions/kernel/canonical-json.ts';
import { parseJson } from '../../functions/kernel/json-text.ts';
import type { Decision, RecordData, RecordStore, Write } from '../../functions/store/port.ts';
import { patched } from './canonical-outbox-tenant.ts';
import { RecordsStage } from './records-stage.ts';

export const NAME = 'notes';
/** The same records, written by this release. */
const FRESH = 'fresh';
const CLAIM_MS = 120_001;

export type Plant = (store: RecordStore) => RecordStore;

const words = ['alpha', 'beta', 'gamma', 'delta', 'epsilon'];

const textOf = (n: number) =>
  JSON.stringify({
    id: `r${String(n).padStart(4, '0')}`,
    partitionKey: `p${n % 3}`,
    content: { text: `${words[n % 5]} ${words[n % 4]} word${n}` },
    ...(n % 2 === 0 ? { vectors: { body: { values: [n, 1] } } } : {}),
  });

const searches: readonly SearchRequest[] = [
  { lexical: { query: 'alpha' } },
  { lexical: { query: 'beta word7', prefixMatching: true } },
  { vector: { field: 'body', value: [3, 1], top: 5_000 } },
];

/** The store as a release without search entries writes to it, as long as that release runs. */
export function earlierRelease(store: RecordStore, isRunning: () => boolean = () => true): RecordStore {
  return patched(store, {
    transact: (scope, request, decide) =>
      store.transact(scope, request, (found) => {
        const decision = decide(found);
        return isRunning() ? withoutEntries(decision) : decision;
      }),
  });
}

function withoutEntries<R>({ writes, result }: Decision<R>): Decision<R> {
  return {
    result,
    writes: writes.map((write): Write => ('put' in write ? { put: plain(write.put) } : write)),
  };
}

function plain(record: RecordData): RecordData {
  const { search: _, ...others } = record;
  const { entriesFrom: __, entriesTo: ___, ...head } = record.head;
  return { ...others, head };
}

class Death extends Error {}

/** A process that dies before or behind one of its commits. */
function mortal(store: RecordStore, commits: number, when: 'before' | 'behind'): RecordStore {
  let left = commits;
  const dying = async <R>(commit: () => Promise<R>): Promise<R> => {
    left -= 1;
    if (left < 0 || (left === 0 && when === 'before')) throw new Death('the process is dead');
    const answer = await commit();
    if (left === 0) throw new Death('the process is dead');
    return answer;
  };
  return patched(store, {
    transact: (...given) => dying(() => store.transact(...given)),
    claim: (...given) => dying(() => store.claim(...given)),
  });
}

/** A collection that a release without search entries has written, and one of this release with the same records. */
export class ReindexStage {
  readonly stage: RecordsStage;
  readonly #store: RecordStore;
  readonly #plant: Plant;

  constructor(store: RecordStore, plant: Plant = (each) => each, space = `space ${randomUUID()}`) {
    this.#store = store;
    this.#plant = plant;
    this.stage = new RecordsStage(store, {}, space);
  }

  async fill(count: number): Promise<void> {
    for (const name of [NAME, FRESH]) {
      const store = name === FRESH ? this.#store : earlierRelease(this.#store);
      const parts = this.#partsOver(store);
      const vectorPolicies = [{ name: 'body', path: '/vectors/body/values', dimensions: 2 }];
      await createCollection(parts, this.stage.space, readPolicy({ name, vectorPolicies }));
      const items = Array.from({ length: count }, (_, n) => ({ text: textOf(n) }));
      for (let at = 0; at < count; ) {
        const some = items.slice(at, at + 100);
        const written = await writeChunk(parts, this.stage.space, { name }, some, { continueOnError: false });
        at += written.length;
      }
    }
  }

  #partsOver(store: RecordStore): RecordParts {
    const { world, limits } = this.stage.parts;
    return createRecordParts({ store: () => Promise.resolve(store), world, limits });
  }

  /** `looks`: how often the sweep may look whether its time is over. Answers how many records it prepared. */
  async sweep(store: RecordStore = this.#store, looks = Number.POSITIVE_INFINITY): Promise<number> {
    let left = looks;
    const isOver = () => {
      left -= 1;
      return left < 0;
    };
    const { records } = await sweepStale(this.#partsOver(this.#plant(store)), isOver);
    return records;
  }

  /** A sweep whose time ends after some checks; answers the number of prepared records. */
  shortSweep(looks: number): Promise<number> {
    return this.sweep(this.#store, looks);
  }

  /** A sweep of a process that dies at its `commits`-th commit; answers whether it died. */
  async killedSweep(commits: number, when: 'before' | 'behind'): Promise<boolean> {
    try {
      await this.sweep(mortal(this.#store, commits, when));
      return false;
    } catch (error) {
      if (!(error instanceof Death)) throw error;
      return true;
    } finally {
      // Another process may take the claims of the dead one.
      this.stage.world.now += CLAIM_MS;
    }
  }

  /** `refused`: the collection is not prepared yet. `equal`: each search answers as on the other collection. */
  async verdict(): Promise<'refused' | 'equal' | 'wrong'> {
    const verdicts = new Set<string>();
    for (const search of searches) {
      const found = await this.answer(search).catch((error: unknown) => codeOf(error));
      if (found === 'search_index_building') verdicts.add('refused');
      else verdicts.add(isDeepStrictEqual(found, await this.answer(search, FRESH)) ? 'equal' : 'wrong');
    }
    const [first = 'wrong'] = verdicts;
    return verdicts.size === 1 ? (first as 'refused' | 'equal' | 'wrong') : 'wrong';
  }

  /** Writes the record to both collections. */
  async putBoth(record: object): Promise<void> {
    for (const name of [NAME, FRESH]) await this.stage.put(name, record);
  }

  async answer(search: SearchRequest, name = NAME): Promise<readonly unknown[]> {
    const { matches } = await searchRecords(this.stage.parts, this.stage.space, name, search);
    return matches.map((match) => {
      const { record, score } = parseJson(match) as { record: JsonObject; score: number };
      return [record, score];
    });
  }

  /** The head of the collection's policy record. */
  async head(): Promise<RecordData['head']> {
    const { records } = await this.#store.query(
      { kind: 'spaces', name: this.stage.space },
      { by: 'list', collection: POLICIES, limit: 10 },
    );
    const found = records.find(({ listing }) => listing?.id === NAME);
    if (found === undefined) throw new Error('there is no collection');
    return found.head;
  }
}

function codeOf(error: unknown): unknown {
  if (error instanceof Error && 'code' in error) return error.code;
  throw error;
}

/** Kills sweeps by `lives`, one after the other, until one survives. Answers the first wrong verdict. */
export async function sweepInLives(
  stage: ReindexStage,
  lives: (life: number) => readonly [commits: number, when: 'before' | 'behind'],
): Promise<'equal' | 'wrong' | 'refused'> {
  if ((await stage.verdict()) !== 'refused') return 'wrong';
  for (let life = 0; ; life += 1) {
    const died = await stage.killedSweep(...lives(life));
    const verdict = await stage.verdict();
    if (!died || verdict === 'wrong') return verdict;
  }
}
