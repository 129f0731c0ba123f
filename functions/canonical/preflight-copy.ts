import { canonicalJson, type Json, sha256 } from '../kernel/canonical-json.ts';
import type { RecordData, RecordStore } from '../store/port.ts';
import { tenantCollections, tenantScope } from './records.ts';

const PAGE_RECORDS = 100;

/** All records of a tenant as of one moment, and one value that names them all. */
export interface TenantCopy {
  readonly tenantId: string;
  readonly records: readonly RecordData[];
  readonly hash: string;
}

export async function copyTenant(store: RecordStore, tenantId: string): Promise<TenantCopy> {
  const collections = tenantCollections.map(({ name }) => name);
  const records: RecordData[] = [];
  for await (const page of store.scan(tenantScope(tenantId), { collections, pageSize: PAGE_RECORDS })) {
    records.push(...page.records);
  }
  return { tenantId, records, hash: sha256(canonicalJson(records.map(inFull))) };
}

export async function replaceTenant(
  store: RecordStore,
  tenantId: string,
  records: readonly RecordData[],
): Promise<void> {
  await store.swap(tenantScope(tenantId), eachOf(records), () => undefined);
}

/** Whether every text that says whose it is, in whatever record, says that it is this tenant's; one at least does. */
export function namesItsTenant({ tenantId, records }: TenantCopy): boolean {
  const named = records.flatMap(({ body, parts }) =>
    [body ?? null, ...(parts ?? []).map((part) => part.body)].flatMap((text) =>
      text === null ? [] : tenantsNamedIn(JSON.parse(text) as Json),
    ),
  );
  return named.length > 0 && named.every((name) => name === tenantId);
}

function tenantsNamedIn(value: Json): Json[] {
  if (value === null || typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([name, member]: [string, Json]) =>
    name === 'tenantId' ? [member] : tenantsNamedIn(member),
  );
}

/** Every facet in one form: what a view leaves out and what is stored as nothing are the same here. */
function inFull({ key, head, body, listing, due, parts }: RecordData) {
  const filed = (parts ?? []).map((part) => canonicalJson(part)).sort();
  return { key, head, body: body ?? null, listing: listing ?? null, due: due ?? null, parts: filed };
}

async function* eachOf(records: readonly RecordData[]): AsyncGenerator<RecordData, void, undefined> {
  yield* records;
}
