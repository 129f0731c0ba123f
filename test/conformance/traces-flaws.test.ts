import { describe, expect, test } from 'vitest';
import type {
  Decision,
  KeysSelection,
  ListSelection,
  LoadedRecords,
  PartsSelection,
  RecordPage,
  RecordStore,
  Scope,
  TransactRequest,
} from '../../functions/store/port.ts';
import { summarizeTraces } from '../../functions/traces/summarize-traces.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { agreesWithModel } from './traces-model.ts';
import { TracesStage } from './traces-stage.ts';

interface Faults {
  readonly list?: (selection: ListSelection) => ListSelection;
  readonly page?: (page: RecordPage, selection: ListSelection) => RecordPage;
  readonly decision?: (decision: Decision<unknown>) => Decision<unknown>;
}

/** A store with a fault in its lists or its commits. */
class FaultyStore extends MemoryStore {
  readonly #faults: Faults;

  constructor(faults: Faults) {
    super(new MemoryDatabase());
    this.#faults = faults;
  }

  override query(scope: Scope, selection: KeysSelection | ListSelection): Promise<RecordPage>;
  override query(scope: Scope, selection: PartsSelection): ReturnType<RecordStore['query']> & Promise<never>;
  override async query(
    scope: Scope,
    selection: KeysSelection | ListSelection | PartsSelection,
  ): Promise<RecordPage> {
    if (selection.by === 'parts') throw new Error('traces have no parts');
    if (selection.by === 'keys') return super.query(scope, selection);
    const { list = (same) => same, page = (same) => same } = this.#faults;
    return page(await super.query(scope, list(selection)), selection);
  }

  override transact<R>(
    scope: Scope,
    request: TransactRequest,
    decide: (found: LoadedRecords) => Decision<R>,
  ): Promise<R> {
    const { decision = (same) => same } = this.#faults;
    return super.transact(scope, request, (found) => decision(decide(found)) as Decision<R>);
  }
}

function without(name: 'afterId' | 'equal' | 'direction', selection: ListSelection): ListSelection {
  const { [name]: _, ...rest } = selection;
  return rest;
}

const isCounts = (write: Decision<unknown>['writes'][number]) =>
  'put' in write && write.put.key.collection === 'trace-counts';
const isRemoval = (write: Decision<unknown>['writes'][number]) => 'remove' in write;

const faults: Readonly<Record<string, Faults>> = {
  'ignores `afterId` and begins a list with the newest trace': {
    list: (selection) => without('afterId', selection),
  },
  'answers traces of other operations': { list: (selection) => without('equal', selection) },
  'always lists in ascending order': { list: (selection) => without('direction', selection) },
  'loses the last trace of a page': {
    page: (page, { limit }) => (limit === 1 ? page : { ...page, records: page.records.slice(0, -1) }),
  },
  'does not count traces out': {
    decision: ({ writes, result }) => ({
      writes: writes.some(isRemoval) ? writes.filter((write) => !isCounts(write)) : writes,
      result,
    }),
  },
  'does not count traces in': {
    decision: ({ writes, result }) => ({
      writes: writes.some(isRemoval) ? writes : writes.filter((write) => !isCounts(write)),
      result,
    }),
  },
  'keeps traces that it says are removed': {
    decision: ({ writes, result }) => ({ writes: writes.filter((write) => !isRemoval(write)), result }),
  },
};

describe('the comparison of traces with a list in memory', () => {
  test('finds nothing wrong with a store that has no fault', async () => {
    await expect(agreesWithModel(new TracesStage(new FaultyStore({})), 60)).resolves.toBeUndefined();
  });

  test.each(Object.entries(faults))('finds a store that %s', async (_, fault) => {
    await expect(agreesWithModel(new TracesStage(new FaultyStore(fault)), 60)).rejects.toThrow();
  });
});

test('a summary reads as many records for many traces as for few', async () => {
  let read = 0;
  const page = (answer: RecordPage) => {
    read += answer.records.length;
    return answer;
  };
  const own = new TracesStage(new FaultyStore({ page }));
  const costOf = async (count: number) => {
    for (const operation of ['provider.run', 'provider.qualification', 'retrieval.search', 'rag.ingest_text'])
      await own.writeMany(count, { operation });
    read = 0;
    await summarizeTraces(own.parts, own.space, null);
    return read;
  };
  const few = await costOf(16);
  expect(await costOf(200)).toBe(few);
  expect(few).toBeLessThanOrEqual(4 * (8 + 2));
});
