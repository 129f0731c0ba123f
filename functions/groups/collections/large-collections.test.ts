import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type {
  CollectionExportEnvelope,
  CollectionExportRequest,
  CollectionInspectionResult,
  RecordQueryResult,
} from '../../../contracts/generated/models.ts';
import { patched } from '../../../test/conformance/canonical-outbox-tenant.ts';
import { type RunningService, startService } from '../../../test/support/service.ts';
import type { ListSelection, Moment, RecordStore } from '../../store/port.ts';

/** Answers over a collection of some size, through the whole service on SQLite. */

const COUNT = 3_000;
const READS_MAX = 1_000;
const unlimited = {
  'Server:RecordRateLimit:PermitLimit': '1000000',
  'Server:ExecutionRateLimit:PermitLimit': '1000000',
};
const policy = {
  name: 'large',
  indexedMetadata: ['/metadata/kind'],
  vectorPolicies: [{ name: 'body', path: '/vectors/body/values', dimensions: 2 }],
};

interface Written {
  readonly id: string;
  readonly partitionKey: string;
  readonly type: string;
  readonly metadata: { readonly kind: string; readonly rank: number; readonly embeddingModel: string };
  readonly vectors?: Readonly<Record<string, { readonly values: readonly number[]; readonly model: string }>>;
  readonly content: { readonly text: string };
}

const written = Array.from({ length: COUNT }, (_, n): Written => {
  const vector = { values: [n, 1], model: `m${n % 3}` };
  return {
    id: `r${String((n * 7_919) % COUNT).padStart(4, '0')}`,
    partitionKey: `p${n % 7}`,
    type: n % 5 === 0 ? 'rag.manifest' : 'note',
    metadata: { kind: `k${n % 10}`, rank: (n * 31) % 1_009, embeddingModel: `m${n % 2}` },
    // Every third record has the vector of the policy.
    ...(n % 3 === 0 ? { vectors: { body: vector } } : {}),
    content: { text: 'x'.repeat(900) },
  };
});

const byListing = written.toSorted((a, b) => {
  const [left, right] = [`${a.partitionKey}/${a.id}`, `${b.partitionKey}/${b.id}`];
  return left < right ? -1 : 1;
});

describe('a collection of 3,000 records', () => {
  const lists: ListSelection[] = [];
  let service: RunningService;
  /** The same data behind a proxy that carries little, and with a small budget. */
  let narrow: RunningService;
  beforeAll(async () => {
    const watchStore = (store: RecordStore) => watched(store, lists);
    service = await startService({ watchStore, settings: unlimited });
    await filled(service);
    narrow = await startService({
      settings: {
        'Server:DataDirectory': service.folder,
        'Server:MessageBytesMax': '1048576',
        'Records:ReadsPerCallMax': String(READS_MAX),
        ...unlimited,
      },
    });
  });
  afterAll(async () => {
    await narrow.close();
    await service.close();
  });

  test('is inspected as a naive count has it, from heads alone, also beyond anomalyLimit', async () => {
    lists.length = 0;
    const whole = await get<CollectionInspectionResult>(
      service,
      '/collections/large/inspect?anomalyLimit=500',
    );
    const expected = naiveInspection();
    expect(whole).toMatchObject({ ...expected.counts, returnedAnomalyCount: 500 });
    expect(whole.anomalies?.map(({ kind, id, field }) => `${kind} ${id} ${field}`)).toEqual(
      expected.anomalies.slice(0, 500),
    );
    const limited = await get<CollectionInspectionResult>(
      service,
      '/collections/large/inspect?anomalyLimit=7',
    );
    expect(limited).toMatchObject({ ...expected.counts, returnedAnomalyCount: 7 });
    expect(limited.anomalies).toEqual(whole.anomalies?.slice(0, 7));
    const records = lists.filter(({ collection }) => collection.name === 'records');
    expect(records.length).toBeGreaterThan(0);
    expect(new Set(records.map(({ view }) => view))).toEqual(new Set(['head']));
  });

  test('an export beyond maxRecords is refused, or is cut and goes on where it ended', async () => {
    const path = '/collections/large/export';
    const refused = await post(service, path, { maxRecords: COUNT - 1 });
    expect([refused.status, refused.json()]).toMatchObject([400, { code: 'limit_exceeded' }]);
    const exact = await exported(service, { maxRecords: COUNT });
    expect(exact).toMatchObject({ recordCount: COUNT, truncated: false, continuationToken: null });
    const { pages, records } = await exportedInParts(service, 1_100);
    expect(pages.map(({ recordCount, truncated }) => [recordCount, truncated])).toEqual([
      [1_100, true],
      [1_100, true],
      [800, false],
    ]);
    expect(records).toEqual(exact.records);
    expect(records.map(idOf)).toEqual(byListing.map(idOf));
  });

  test('an export that an answer cannot carry is refused, or is cut by its bytes', async () => {
    const refused = await post(narrow, '/collections/large/export', {});
    expect([refused.status, refused.json()]).toMatchObject([400, { code: 'limit_exceeded' }]);
    const { pages, records } = await exportedInParts(narrow, 10_000);
    expect(pages.length).toBeGreaterThan(2);
    expect(pages.length).toBeLessThan(20);
    for (const page of pages) expect(JSON.stringify(page).length).toBeLessThan(1_048_576);
    expect(records.map(idOf)).toEqual(byListing.map(idOf));
  });

  test('a page is cut by its bytes and has a token', async () => {
    const path = '/collections/large/query';
    const found: string[] = [];
    let continuationToken: string | null = null;
    let pages = 0;
    do {
      const answer = await post(narrow, path, { partitionKeys: ['p1', 'p2', 'p3'], continuationToken });
      expect(answer.status, answer.body).toBe(200);
      expect(answer.body.length).toBeLessThan(1_048_576);
      const page = answer.json<RecordQueryResult>();
      found.push(...page.items.map(idOf));
      continuationToken = page.continuationToken;
      pages += 1;
    } while (continuationToken !== null);
    expect(pages).toBeGreaterThan(1);
    const wanted = byListing.filter(({ partitionKey }) => ['p1', 'p2', 'p3'].includes(partitionKey));
    expect(found).toEqual(wanted.map(idOf));
  });

  test('a query that needs too many reads is refused with the path to index', async () => {
    const path = '/collections/large/query';
    const rare = { filter: { path: '/metadata/rank', op: 'eq', value: -1 }, limit: 5 };
    const refused = await post(narrow, path, rare);
    expect([refused.status, refused.json()]).toMatchObject([400, { code: 'query_budget_exceeded' }]);
    expect(refused.json<{ detail: string }>().detail).toContain(`more than ${READS_MAX} records`);
    expect(refused.json<{ detail: string }>().detail).toContain('/metadata/rank');
    const indexed = { filter: { path: '/metadata/kind', op: 'eq', value: 'k3' }, limit: 5 };
    expect((await post(narrow, path, indexed)).json<RecordQueryResult>().items).toHaveLength(5);
    expect((await post(narrow, '/collections/large/query', { limit: 5 })).status).toBe(200);
    const inspected = await narrow.call({ method: 'GET', path: '/collections/large/inspect' });
    expect(inspected.json()).toMatchObject({ code: 'query_budget_exceeded' });
  });

  test('a deep page is the same as in one long answer, in every order', async () => {
    const path = '/collections/large/query';
    const by = (field: 'rank') => (a: Written, b: Written) => b.metadata[field] - a.metadata[field];
    const orders = [
      { asked: {}, expected: byListing },
      {
        asked: { orderBy: [{ path: '/metadata/rank', direction: 'desc' }] },
        expected: byListing.toSorted(by('rank')),
      },
    ];
    for (const { asked, expected } of orders) {
      for (const offset of [0, 1_499, 2_990, 3_000, 5_000]) {
        const continuationToken = offset === 0 ? null : Buffer.from(`${offset}`).toString('base64');
        const page = (
          await post(service, path, { ...asked, limit: 20, continuationToken })
        ).json<RecordQueryResult>();
        expect(page.items.map(idOf), `offset ${offset}`).toEqual(
          expected.slice(offset, offset + 20).map(idOf),
        );
        expect(page.continuationToken === null).toBe(offset + 20 >= COUNT);
      }
    }
  });
});

const idOf = ({ id }: { readonly id?: unknown }): string => String(id);

function naiveInspection() {
  const count = (keys: readonly string[]) => {
    const counts: Record<string, number> = {};
    for (const key of keys) counts[key] = (counts[key] ?? 0) + 1;
    return counts;
  };
  const withBody = written.filter(({ vectors }) => vectors?.['body'] !== undefined);
  const lacking = written.filter(({ vectors }) => vectors?.['body'] === undefined);
  const manifests = lacking.filter(({ type }) => type === 'rag.manifest').length;
  const anomalies = byListing
    .filter(({ type, vectors }) => vectors?.['body'] === undefined && type !== 'rag.manifest')
    .map(({ id }) => `missingPolicyVector ${id} body`);
  const models = written.flatMap(({ metadata, vectors }) => [
    ...new Set([metadata.embeddingModel, ...Object.values(vectors ?? {}).map(({ model }) => model)]),
  ]);
  return {
    anomalies,
    counts: {
      recordCount: COUNT,
      partitionCount: 7,
      typeCounts: count(written.map(({ type }) => type)),
      embeddingModelCounts: count(models),
      extraVectorFieldCounts: {},
      anomalyCount: anomalies.length,
      vectors: [
        {
          field: 'body',
          presentCount: withBody.length,
          missingCount: lacking.length - manifests,
          notApplicableCount: manifests,
          emptyCount: 0,
          dimensionMismatchCount: 0,
          modelCounts: count(withBody.map(({ vectors }) => vectors?.['body']?.model ?? '')),
        },
      ],
    },
  };
}

/** Notes each list of the store, also those of a moment. */
function watched(store: RecordStore, lists: ListSelection[]): RecordStore {
  return patched(store, {
    snapshot: (scope, read) =>
      store.snapshot(scope, (moment) => {
        const query = ((selection: ListSelection) => {
          if (selection.by === 'list') lists.push(selection);
          return moment.query(selection);
        }) as Moment['query'];
        return read({ query, find: moment.find, count: moment.count, generation: () => moment.generation() });
      }),
  });
}

async function filled(service: RunningService): Promise<void> {
  await ended(service, await post(service, '/collections', policy));
  for (let at = 0; at < COUNT; at += 500) {
    const records = written.slice(at, at + 500);
    await ended(service, await post(service, '/collections/large/records/batch', { records }));
  }
}

type Answer = Awaited<ReturnType<RunningService['call']>>;

async function ended(service: RunningService, accepted: Answer): Promise<void> {
  expect(accepted.status, accepted.body).toBe(202);
  const path = accepted.headers['location'] ?? '';
  const job = (await service.ended({ method: 'GET', path })).json<{ status: string; failed?: number }>();
  expect(job).toMatchObject({ status: 'succeeded' });
  expect(job.failed ?? 0, JSON.stringify(job).slice(-900)).toBe(0);
}

async function get<Body>(service: RunningService, path: string): Promise<Body> {
  const answer = await service.call({ method: 'GET', path });
  expect(answer.status, answer.body).toBe(200);
  return answer.json<Body>();
}

function post(service: RunningService, path: string, body: unknown): Promise<Answer> {
  return service.call({ method: 'POST', path, body });
}

async function exported(service: RunningService, request: CollectionExportRequest) {
  const answer = await post(service, '/collections/large/export', request);
  expect(answer.status, answer.body.slice(0, 500)).toBe(200);
  return answer.json<CollectionExportEnvelope>();
}

async function exportedInParts(service: RunningService, maxRecords: number) {
  const pages: CollectionExportEnvelope[] = [];
  let continuationToken: string | null = null;
  do {
    const request = { maxRecords, failOnLimitExceeded: false, query: { continuationToken } };
    const page = await exported(service, request);
    pages.push(page);
    continuationToken = page.continuationToken ?? null;
  } while (continuationToken !== null);
  return { pages, records: pages.flatMap(({ records }) => records) };
}
