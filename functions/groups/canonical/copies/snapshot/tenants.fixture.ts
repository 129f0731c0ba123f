import * as fc from 'fast-check';
import type { JsonValue } from '../../../../../contracts/generated/models.ts';
import { MemoryDatabase } from '../../../../../test/simulation/memory-database.ts';
import { MemoryStore } from '../../../../../test/simulation/memory-store.ts';
import { TenantClient } from '../../../../../test/support/canonical.ts';
import { SnapshotError, type SnapshotFault } from '../../../../archives/snapshot-error.ts';
import { ServiceError } from '../../../../kernel/errors.ts';
import type { RecordData, RecordStore } from '../../../../store/port.ts';
import { tenantCollections, tenantScope } from '../../records.ts';
import { type RecordPages, type SnapshotLine, SnapshotLineReader, snapshotLines } from './lines.ts';
import { recordOf } from './record-values.ts';

/** Tenants made by real commits and calls, so that a snapshot is tried on what there can be. */

export const TENANT = 'tenant-ü';

export interface Step {
  readonly call: 'commit' | 'lease' | 'ack' | 'release' | 'replay' | 'wait';
  readonly writes: readonly { readonly id: number; readonly deletes: boolean; readonly data: JsonValue }[];
  readonly fence: number | null;
  readonly events: readonly { readonly payload: JsonValue; readonly most: number | null }[];
  readonly pick: number;
  readonly large: boolean;
}

const small = fc.nat({ max: 4 });
// Strings with a lone surrogate and members named __proto__ never come through a commit's own parser.
const json: fc.Arbitrary<JsonValue> = fc
  .jsonValue({ maxDepth: 3, stringUnit: 'grapheme' })
  .filter((value) => !JSON.stringify(value).includes('__proto__')) as fc.Arbitrary<JsonValue>;

export const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    call: fc.constantFrom('commit', 'commit', 'commit', 'lease', 'ack', 'release', 'replay', 'wait'),
    writes: fc.uniqueArray(fc.record({ id: small, deletes: fc.boolean(), data: json }), {
      maxLength: 3,
      selector: ({ id }) => id,
    }),
    fence: fc.option(small),
    events: fc.array(fc.record({ payload: json, most: fc.option(fc.integer({ min: 1, max: 2 })) }), {
      maxLength: 2,
    }),
    pick: fc.nat(),
    large: fc.boolean(),
  }),
  { maxLength: 14 },
);

export interface Made {
  readonly store: RecordStore;
  readonly client: TenantClient;
}

export function emptyTenant(tenantId = TENANT): Made {
  const store = new MemoryStore(new MemoryDatabase());
  return { store, client: new TenantClient(store, tenantId) };
}

/** Plays the steps; a step that a rule refuses changes nothing and is skipped. */
export async function tenantOf(played: readonly Step[]): Promise<Made> {
  const made = emptyTenant();
  const leases: { id: string; token: string }[] = [];
  for (const [n, step] of played.entries()) {
    try {
      await play(made.client, step, n, leases);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
    }
    made.client.advance(1000);
  }
  return made;
}

async function play(client: TenantClient, step: Step, n: number, leases: { id: string; token: string }[]) {
  const lease = leases[step.pick % Math.max(1, leases.length)];
  if (step.call === 'commit') return client.commit(commitOf(client, step, n));
  if (step.call === 'wait') return client.advance(step.large ? 3_600_000 : 10_000);
  if (step.call === 'lease') {
    for (const given of await client.lease({ maxItems: 2, leaseSeconds: 20 })) {
      leases.push({ id: given.event.id, token: given.leaseToken });
    }
  }
  if (lease === undefined) return;
  if (step.call === 'ack') await client.ack(lease.id, lease.token);
  if (step.call === 'release') await client.release(lease.id, { leaseToken: lease.token, error: 'no\nluck' });
  if (step.call === 'replay') await client.replay(lease.id, step.large);
}

function commitOf(client: TenantClient, { writes, fence, events, large }: Step, n: number) {
  return {
    idempotencyKey: `key/${n}`,
    correlationId: n % 2 === 0 ? null : 'correlated',
    actor: n % 3 === 0 ? 'somebody' : null,
    mutations: writes.map(({ id, deletes, data }) => {
      const options = { indexes: { title: `t${id}`, ä: 'ö' } };
      return deletes ? client.remove(`d/${id}`) : client.upsert(`d/${id}`, { data, n }, options);
    }),
    fences: fence === null ? [] : [fenceOf(fence, n % 4 === 3 ? ('release' as const) : ('claim' as const))],
    outbox: events.map(({ payload, most }, at) => ({
      ...(at === 1 ? { id: `own-${n}` } : {}),
      topic: 'topic',
      key: 'key',
      payload: large ? { payload, filler: 'x'.repeat(300_000) } : payload,
      headers: { 'x-header': 'v' },
      maxDeliveryAttempts: most,
    })),
  };
}

function fenceOf(value: number, operation: 'claim' | 'release') {
  return { operation, name: 'number', value: `${value}`, ownerDocumentType: 'claim', ownerDocumentId: 'd/0' };
}

export function scanned(store: RecordStore, tenantId = TENANT, pageSize = 3): RecordPages {
  const collections = tenantCollections.map(({ name }) => name);
  return store.scan(tenantScope(tenantId), { collections, pageSize });
}

export async function linesIn({ store, client }: Made): Promise<SnapshotLine[]> {
  return collected(
    snapshotLines(client.tenantId, scanned(store, client.tenantId), { now: client.clock.now }),
  );
}

export function readLines(lines: readonly string[], tenantId = TENANT): RecordData[] {
  const reader = new SnapshotLineReader(tenantId);
  const entries = lines.flatMap((line) => reader.read(line.replace(/\n$/, '')) ?? []);
  reader.end();
  return entries.map(recordOf);
}

export async function collected<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

export async function* eachOf<T>(items: Iterable<T>): AsyncGenerator<T, void, undefined> {
  yield* items;
}

export async function replaced(records: Iterable<RecordData>, tenantId = TENANT): Promise<Made> {
  const made = emptyTenant(tenantId);
  await made.store.swap(tenantScope(tenantId), eachOf(records), () => undefined);
  return made;
}

/** The error that `call` is refused with; fails where it is not, or for another fault. */
export async function faultOf(fault: SnapshotFault | null, call: () => unknown): Promise<SnapshotError> {
  try {
    await call();
  } catch (error) {
    if (!(error instanceof SnapshotError)) throw error;
    if (fault !== null && error.fault !== fault) throw new Error('another fault was found', { cause: error });
    return error;
  }
  throw new Error('nothing was refused');
}

/** One tenant with something of everything: live and deleted documents, a fence, events in four states. */
export async function sampleTenant(): Promise<Made> {
  const made = emptyTenant('tenant-a');
  const { client } = made;
  const event = { topic: 'claims', key: 'a' };
  await client.commit({
    idempotencyKey: 'create',
    correlationId: 'c-1',
    mutations: [
      client.upsert(
        'a',
        { text: 'π <&> "\\', score: 1, nested: { z: 2, a: true } },
        { indexes: { title: 'α' } },
      ),
      client.upsert('b'),
    ],
    fences: [fenceOf(1, 'claim')],
    outbox: [
      { ...event, id: 'delivered', payload: { n: 1 }, headers: { h: 'v' } },
      { ...event, id: 'leased', payload: [1, 'x'] },
      { ...event, id: 'parked', maxDeliveryAttempts: 1 },
      { ...event, notBeforeUtc: '2027-01-01T00:00:00Z', payload: null },
    ],
  });
  client.advance(1000);
  await client.commit({ idempotencyKey: 'remove', mutations: [client.remove('b'), client.upsert('a', {})] });
  const leases = await client.lease();
  for (const {
    event: { id },
    leaseToken,
  } of leases) {
    if (id === 'delivered') await client.ack(id, leaseToken);
    if (id === 'parked') await client.release(id, { leaseToken, error: 'gave up' });
  }
  return made;
}
