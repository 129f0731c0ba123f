import { type OwnedCollection, SERVICE_DATA } from '../store/ownership.ts';
import { type RecordData, type RecordKey, type RecordStore, StoreError } from '../store/port.ts';
import { recordId } from '../store/record-id.ts';
import { type StoredQualification, withQualification } from './rules/qualification.ts';

/** The newest qualifications: one record a provider, so that readiness reads one record and no traces. */
export const PROVIDER_QUALIFICATIONS: OwnedCollection = {
  name: 'provider-qualifications',
  pairedIndexes: false,
  ...SERVICE_DATA,
};
const SCOPE = { kind: 'system', name: 'provider-qualifications' } as const;

type Store = () => Promise<RecordStore>;

/** The qualifications of these providers, in their order. */
export async function qualificationsOf(
  store: Store,
  providers: readonly string[],
): Promise<readonly (readonly StoredQualification[])[]> {
  if (providers.length === 0) return [];
  const keys = providers.map(keyOf);
  const { records } = await (await store()).query(SCOPE, {
    by: 'keys',
    keys: keys.map((key) => ({ key, view: 'body' as const })),
  });
  const byId = new Map(records.map((record) => [record.key.id, record]));
  return keys.map(({ id }) => readQualifications(byId.get(id)));
}

/** Stores the proof of a run or a qualification, unless a newer or better one is stored. */
export async function keepQualification(
  store: Store,
  provider: string,
  next: StoredQualification,
  from: 'qualification' | 'run',
): Promise<void> {
  const key = keyOf(provider);
  await (await store()).transact(SCOPE, { keys: [{ key, view: 'body' }] }, (found) => {
    const before = readQualifications(found.get(key));
    const after = withQualification(before, next, from);
    if (after === before) return { writes: [], result: null };
    return { writes: [{ put: { key, head: {}, body: JSON.stringify(after) } }], result: null };
  });
}

function keyOf(provider: string): RecordKey {
  return {
    collection: PROVIDER_QUALIFICATIONS.name,
    id: recordId('provider-qualifications', provider),
  };
}

function readQualifications(record: RecordData | undefined): readonly StoredQualification[] {
  if (record === undefined) return [];
  const list: unknown = JSON.parse(record.body ?? 'null');
  if (!Array.isArray(list)) throw new StoreError('corrupt', 'the qualifications of a provider are no list');
  return list as readonly StoredQualification[];
}
