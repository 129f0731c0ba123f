import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { collections, tenantScope } from '../../functions/groups/canonical/records.ts';
import type { RecordData } from '../../functions/store/port.ts';
import { recordId } from '../../functions/store/record-id.ts';
import { canonical } from '../../scripts/cost/measured.ts';
import { TenantClient } from '../support/canonical.ts';
import { firestoreMissing } from '../support/firestore.ts';
import { countBill } from './bill-counter.ts';
import { countingCalls } from './counted-calls.ts';
import { openTestStore } from './fixtures.ts';

type Call = (tenant: TenantClient) => Promise<unknown>;
interface Entry {
  /** The operation, whose use of the cloud is in the table of `npm run cost`. */
  readonly operation: keyof typeof canonical;
  /** Prepares the records that the operation needs; not counted. */
  readonly before?: (tenant: TenantClient) => Promise<Call>;
  readonly call?: Call;
}

const absent = { precondition: { mustNotExist: true } };
const event = { topic: 't', key: 'k' };
const fence = {
  operation: 'claim' as const,
  name: 'policy',
  value: 'P-1',
  ownerDocumentType: 'claim',
  ownerDocumentId: 'doc-1',
};

/** The operations of `docs/performance.md`, and of the bill. */
const entries: readonly Entry[] = [
  {
    operation: 'commit: one upsert, one event',
    call: (tenant) => tenant.commit({ mutations: [tenant.upsert('doc-1')], outbox: [event] }),
  },
  {
    operation: 'commit: one create (`mustNotExist`), one event',
    call: (tenant) => tenant.commit({ mutations: [tenant.upsert('new', {}, absent)], outbox: [event] }),
  },
  {
    operation: 'commit: one upsert, one event, one fence',
    call: (tenant) =>
      tenant.commit({ mutations: [tenant.upsert('doc-1')], outbox: [event], fences: [fence] }),
  },
  {
    operation: 'commit: 100 creates',
    call: (tenant) =>
      tenant.commit({
        mutations: Array.from({ length: 100 }, (_, n) => tenant.upsert(`import-${n}`, {}, absent)),
      }),
  },
  {
    operation: 'replay of a commit',
    async before(tenant) {
      const commit = { idempotencyKey: 'used', mutations: [tenant.upsert('doc-2')], outbox: [event] };
      await tenant.commit(commit);
      return (again) => again.commit(commit);
    },
  },
  { operation: 'document read', call: (tenant) => tenant.read('claim', 'doc-3') },
  {
    operation: 'query: one equality, 20 documents',
    call: async (tenant) => expectItems(20, await tenant.query({ indexes: { owner: 'owner-1' } })),
  },
  {
    operation: 'query: type, ordered by an index, 20 of many',
    call: async (tenant) =>
      expectItems(20, await tenant.query({ documentType: 'claim', orderByIndex: 'rank', limit: 20 })),
  },
  {
    operation: 'query: two equalities, 20 documents',
    call: async (tenant) =>
      expectItems(20, await tenant.query({ indexes: { owner: 'owner-1', kind: 'all' } })),
  },
  {
    operation: 'lease of 10 events',
    async before(tenant) {
      await tenant.commit({ outbox: Array.from({ length: 10 }, () => event) });
      return async (same) => expect(await same.lease({ maxItems: 10 })).toHaveLength(10);
    },
  },
  {
    operation: 'lease when nothing is due',
    call: async (tenant) => expect(await tenant.lease()).toEqual([]),
  },
  { operation: 'acknowledge, renew or release one event', before: leased },
];

async function leased(tenant: TenantClient): Promise<Call> {
  await tenant.commit({ outbox: [event] });
  const [lease] = await tenant.lease();
  return (same) => same.ack(lease?.event.id ?? '', lease?.leaseToken ?? '');
}

function expectItems(count: number, { items }: { readonly items: readonly unknown[] }): void {
  expect(items).toHaveLength(count);
}

const dollarsPerMillion = { reads: 0.3, writes: 0.9, deletes: 0.1 };

function row({ operation }: Entry): string {
  const { calls, reads, writes, deletes } = canonical[operation];
  const { reads: read, writes: write, deletes: remove } = dollarsPerMillion;
  const dollars = reads * read + writes * write + deletes * remove;
  return `| ${operation} | ${calls} | ${reads} | ${writes} | ${dollars.toFixed(2)} |`;
}

test('each operation of the calculator is counted', () => {
  expect(entries.map(({ operation }) => operation)).toEqual(Object.keys(canonical));
});

test('the page of figures has the same numbers', async () => {
  const page = await readFile('docs/performance.md', 'utf8');
  for (const entry of entries) expect(page).toContain(row(entry));
});

describe.skipIf(firestoreMissing !== undefined)(`the bill on Firestore ${firestoreMissing ?? ''}`, () => {
  const { store, client } = openTestStore({ collections });
  const counter = countBill(client);
  afterAll(() => store.close());

  describe.each([40, 1500])('in a tenant of %i documents', (size) => {
    let snapshot: readonly RecordData[];
    beforeAll(() => {
      snapshot = documents(size);
    });

    test.each(entries.map((entry) => [entry.operation, entry] as const))('%s', async (_, entry) => {
      const tenant = new TenantClient(store);
      await store.swap(tenantScope(tenant.tenantId), streamOf(snapshot), () => undefined);
      // The first calls of an instance find out where the records are, and the secret of its tokens.
      await tenant.query({ limit: 1 });
      const call = (await entry.before?.(tenant)) ?? entry.call;
      let requests = 0;
      counter.take();
      await call?.(
        countingCalls(tenant, () => {
          requests += 1;
        }),
      );
      expect({ ...counter.take(), requests, tasks: 0 }).toEqual(canonical[entry.operation]);
    });
  });
});

/** Twenty documents share an owner; all are of one kind. */
function documents(size: number): RecordData[] {
  const at = '2026-01-01T00:00:00.000Z';
  return Array.from({ length: size }, (_, n) => {
    const id = `doc-${n}`;
    const indexes = { owner: `owner-${n % (size / 20)}`, kind: 'all', rank: String(n).padStart(6, '0') };
    return {
      key: { collection: 'documents', id: recordId('claim', id) },
      head: {
        documentType: 'claim',
        id,
        schemaVersion: 'v1',
        revision: 1,
        deleted: false,
        createdAtUtc: at,
        updatedAtUtc: at,
      },
      body: '{}',
      listing: { group: 'claim', id, hidden: false, indexes },
    };
  });
}

async function* streamOf(records: readonly RecordData[]): AsyncGenerator<RecordData> {
  yield* records;
}
