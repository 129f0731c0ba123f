import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RecordImportJob } from '../../../contracts/generated/models.ts';
import { patched } from '../../../test/conformance/canonical-outbox-tenant.ts';
import { created } from '../../../test/conformance/records-jobs-collections.ts';
import { MemoryDatabase } from '../../../test/simulation/memory-database.ts';
import { MemoryStore } from '../../../test/simulation/memory-store.ts';
import { RecordsStage, recordsOf } from '../../../test/support/records-stage.ts';
import { type RunningService, startService } from '../../../test/support/service.ts';
import type { ListSelection, Moment, RecordStore } from '../../store/port.ts';

/** Large answers that are under way share a budget of bytes, while they grow as well as once they are whole. */

const BUDGET = 2 * 1024 * 1024;

/** Holds the call that reads so many pages of records, once the test has armed it. */
class Gate {
  readonly #reached = Promise.withResolvers<void>();
  readonly #open = Promise.withResolvers<void>();
  #left: number;
  /** Pages that other calls have read since. */
  later = 0;

  constructor(lists: number) {
    this.#left = lists;
  }

  get reached(): Promise<void> {
    return this.#reached.promise;
  }

  open(): void {
    this.#open.resolve();
  }

  async pass(selection: { readonly by: string } & Partial<Pick<ListSelection, 'collection'>>): Promise<void> {
    if (selection.by !== 'list' || selection.collection?.name !== 'records') return;
    this.#left -= 1;
    if (this.#left < 0) this.later += 1;
    if (this.#left !== 0) return;
    this.#reached.resolve();
    await this.#open.promise;
  }
}

function gated(store: RecordStore, gate: () => Gate | null): RecordStore {
  return patched(store, {
    snapshot: (scope, read) =>
      store.snapshot(scope, (moment) => {
        const listed = (async (selection: ListSelection) => {
          await gate()?.pass(selection);
          return moment.query(selection);
        }) as Moment['query'];
        return read({
          query: listed,
          find: moment.find,
          count: moment.count,
          generation: () => moment.generation(),
        });
      }),
  });
}

describe('the answers over 3,000 records of a kilobyte, in a budget of two megabytes', () => {
  const QUERY = '/collections/c/query';
  const SEARCH = '/collections/c/search';
  let service: RunningService;
  let gate: Gate | null = null;
  beforeAll(async () => {
    service = await startService({
      watchStore: (store) => gated(store, () => gate),
      settings: { 'Server:BytesInFlightMax': String(BUDGET) },
    });
    const vectorPolicies = [{ name: 'v', path: '/vectors/v/values', dimensions: 1 }];
    await ended('/collections', { name: 'c', vectorPolicies });
    for (let part = 0; part < 6; part += 1) {
      const records = Array.from({ length: 500 }, (_, n) => ({
        id: `${part}-${n}`,
        partitionKey: 'p',
        content: { text: `word ${'x'.repeat(895)}` },
        vectors: { v: { values: [n + 1] } },
      }));
      await ended('/collections/c/records/batch', { records });
    }
  });
  afterAll(() => service.close());

  const post = (path: string, body: unknown) => service.call({ method: 'POST', path, body });
  async function ended(path: string, body: unknown): Promise<void> {
    const accepted = await post(path, body);
    expect(accepted.status, accepted.body).toBe(202);
    const job = await service.ended({ method: 'GET', path: accepted.headers['location'] ?? '' });
    expect(job.json<{ status: string }>().status).toBe('succeeded');
  }

  test.each([
    ['a query', QUERY, { limit: 3_000 }],
    ['a query in another order', QUERY, { limit: 1_500, orderBy: [{ path: '/id', direction: 'desc' }] }],
    ['an export', '/collections/c/export', {}],
    ['a search by words', SEARCH, { lexical: { query: 'word', top: 1_000 } }],
    ['a search by a vector', SEARCH, { vector: { field: 'v', value: [1], top: 1_000 } }],
  ])('%s is refused while another one grows, and is answered afterwards', async (_, path, body) => {
    gate = new Gate(10);
    const first = post(QUERY, { limit: 3_000 });
    await gate.reached;
    const refused = await post(path, body);
    const { later } = gate;
    const small = await post(QUERY, { limit: 10 });
    // The refused call holds nothing, so the first one may grow to its end.
    gate.open();
    expect((await first).status).toBe(200);
    gate = null;
    expect(refused.status, refused.body.slice(0, 300)).toBe(503);
    expect(refused.headers['retry-after']).toBe('1');
    expect(refused.json()).toMatchObject({ code: 'unavailable' });
    // It ends once it has outgrown the budget, and not with its whole answer.
    expect(later).toBeLessThanOrEqual(2);
    expect(small.status).toBe(200);
    expect((await post(path, body)).status).toBe(200);
    expect((await post(path, body)).status).toBe(200);
  });
});

describe('the views of jobs whose results are made from their ledgers', () => {
  const JOBS = 4;
  const VIEW = '/record-import/jobs';
  const long = (count: number) =>
    recordsOf(count).map(({ id }) => ({ id: `${id}${'i'.repeat(1_000)}`, partitionKey: 'p'.repeat(2_000) }));
  const stageOf = async () => {
    let gate: Gate | null = null;
    const database = new MemoryDatabase();
    const store = new MemoryStore(database, { before: () => Promise.resolve() });
    const stage = new RecordsStage(store);
    const over = gated(store, () => gate);
    const service = stage.records({ resultBytesMax: 1_000, bytesInFlightMax: 2 * BUDGET, over });
    await created(stage, service, 'c');
    const ids: string[] = [];
    for (let job = 0; job < JOBS; job += 1) {
      const body = { records: long(1_000) };
      const path = '/collections/c/records/batch/jobs';
      ids.push((await service.answer<RecordImportJob>('POST', path, { body }, 202)).id);
      await stage.quiet();
    }
    return { service, ids, arm: (next: Gate | null) => (gate = next) };
  };

  test('are refused while another answer grows, and a list ends before its results are too large', async () => {
    const { service, ids, arm } = await stageOf();
    const gate = new Gate(5);
    arm(gate);
    const first = service.call('POST', '/collections/c/query', { body: { limit: 1_000 } });
    await gate.reached;
    for (const path of [`${VIEW}/${ids[1]}`, `${VIEW}?includeResult=true`]) {
      const refused = await service.call('GET', path);
      expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
    }
    expect((await service.call('GET', VIEW)).status).toBe(200);
    gate.open();
    expect((await first).status).toBe(200);
    arm(null);
    const listed: RecordImportJob[][] = [];
    for (let path: string | undefined = `${VIEW}?includeResult=true`; path !== undefined; ) {
      const page = await service.call('GET', path);
      expect(page.status).toBe(200);
      listed.push(page.json<RecordImportJob[]>());
      path = /<([^>]+)>; rel="next"/.exec(page.headers['link'] ?? '')?.[1];
    }
    expect(listed.map((page) => page.map(({ id }) => id))).toEqual([ids.toReversed().slice(0, 3), [ids[0]]]);
    for (const job of listed.flat()) expect(job.batchResult?.items).toHaveLength(1_000);
  });
});
