import { type Check, failed, warning } from '../check.ts';
import { type Cloud, count, looking, okUnless, word } from './cloud.ts';
import type { Deployment } from './deployment.ts';

/** The database: its kind, its protection, and the indexes that the queries of this release need. */

interface Database {
  readonly type?: string;
  readonly pointInTimeRecoveryEnablement?: string;
  readonly deleteProtectionState?: string;
}

const host = 'firestore.googleapis.com/v1';

export async function databaseChecks(cloud: Cloud, { databaseId, location }: Deployment): Promise<Check[]> {
  const { apis, projectId } = cloud;
  const command = (verb: string) =>
    `gcloud firestore databases ${verb} --database=${word(databaseId)} --project=${word(projectId)}`;
  return looking(cloud, `database ${databaseId}`, async () => {
    const found = await apis.get<Database>(`${host}/projects/${projectId}/databases/${databaseId}`);
    if (found === undefined) {
      const remedy = `${command('create')} --location=${word(location)} --type=firestore-native --delete-protection`;
      return [failed('cloud-database', `There is no database ${databaseId}.`, remedy)];
    }
    const faults: Check[] = [];
    if (found.type !== 'FIRESTORE_NATIVE') {
      const message = `The database ${databaseId} is of the type ${found.type}; the service needs Firestore in native mode.`;
      faults.push(failed('cloud-database', message, `${command('update')} --type=firestore-native`));
    }
    if (found.deleteProtectionState !== 'DELETE_PROTECTION_ENABLED') {
      const message = `Nothing protects the database ${databaseId} from being deleted.`;
      faults.push(warning('cloud-database', message, `${command('update')} --delete-protection`));
    }
    if (found.pointInTimeRecoveryEnablement !== 'POINT_IN_TIME_RECOVERY_ENABLED') {
      const message = `The database ${databaseId} keeps no versions of the last seven days.`;
      faults.push(warning('cloud-database', message, `${command('update')} --enable-pitr`));
    }
    return okUnless('cloud-database', `The database ${databaseId} is in native mode and protected.`, faults);
  });
}

/** The form of `infra/firestore.indexes.json`. */
export interface WantedIndexes {
  readonly indexes: readonly WantedComposite[];
  readonly fieldOverrides: readonly WantedField[];
}

interface WantedComposite {
  readonly collectionGroup: string;
  readonly queryScope: string;
  readonly fields: readonly IndexField[];
}

interface WantedField {
  readonly collectionGroup: string;
  readonly fieldPath: string;
  readonly ttl?: boolean;
  readonly indexes: readonly IndexField[];
}

interface IndexField {
  readonly fieldPath?: string;
  readonly order?: string;
  readonly arrayConfig?: string;
  readonly vectorConfig?: { readonly dimension: number };
  readonly queryScope?: string;
}

interface Index {
  readonly name?: string;
  readonly queryScope?: string;
  readonly fields?: readonly IndexField[];
  readonly state?: string;
}

interface Field {
  readonly name: string;
  readonly indexConfig?: { readonly indexes?: readonly Index[]; readonly reverting?: boolean };
  readonly ttlConfig?: { readonly state?: string };
}

/** `wanted` is what the code of this release needs; other indexes of the database do no harm. */
export async function indexChecks(
  cloud: Cloud,
  { databaseId }: Deployment,
  wanted: WantedIndexes,
): Promise<Check[]> {
  const { apis, projectId } = cloud;
  const parent = `${host}/projects/${projectId}/databases/${databaseId}/collectionGroups/-`;
  const filter = encodeURIComponent('indexConfig.usesAncestorConfig:false OR ttlConfig:*');
  return looking(cloud, `indexes of the database ${databaseId}`, async () => {
    const [fields, composites] = await Promise.all([
      apis.list<Field>(`${parent}/fields?filter=${filter}&pageSize=300`, 'fields'),
      apis.list<Index>(`${parent}/indexes?pageSize=300`, 'indexes'),
    ]);
    const found = new Map(fields.map((field) => [placeOf(field.name), field]));
    const command = `--database=${word(databaseId)} --project=${word(projectId)}`;
    const faults = [
      ...wanted.fieldOverrides.flatMap((each) =>
        fieldFaults(each, found.get(`${each.collectionGroup}/${each.fieldPath}`), command),
      ),
      ...wanted.indexes.flatMap((each) => compositeFaults(each, composites, command)),
    ];
    const number = wanted.fieldOverrides.length + wanted.indexes.length;
    const live = wanted.fieldOverrides.filter(({ ttl }) => ttl === true).length;
    const ttl = live === 0 ? '' : `, ${count(live, 'rule')} of expiry (TTL) among them`;
    return okUnless('cloud-indexes', `All ${count(number, 'index rule')} are ready${ttl}.`, faults);
  });
}

/** `projects/p/databases/d/collectionGroups/g/fields/f` is `g/f`. */
function placeOf(name: string): string {
  const [, group = '', field = ''] = /\/collectionGroups\/([^/]+)\/fields\/(.+)$/.exec(name) ?? [];
  return `${group}/${field.replaceAll('`', '')}`;
}

function fieldFaults(wanted: WantedField, found: Field | undefined, command: string): Check[] {
  const { collectionGroup: group, fieldPath, indexes } = wanted;
  const at = `${group}.${fieldPath}`;
  const faults: Check[] = [];
  const present = new Map((found?.indexConfig?.indexes ?? []).map((index) => [keyOfField(index), index]));
  const keys = indexes.map((index) => keyOfField({ ...index, fields: [index] }));
  const differs =
    found?.indexConfig === undefined || present.size !== keys.length || keys.some((key) => !present.has(key));
  if (differs) faults.push(missingField(wanted, at, command));
  const unready = [...present.values()].find(({ state = 'READY' }) => state !== 'READY');
  if (!differs && (unready !== undefined || found.indexConfig?.reverting === true)) {
    faults.push(notReady(`The index of ${at}`, unready?.state ?? 'CREATING', command));
  }
  if (wanted.ttl === true) faults.push(...expiryFaults(wanted, found, command));
  return faults;
}

function missingField(
  { collectionGroup, fieldPath, indexes }: WantedField,
  at: string,
  command: string,
): Check {
  const flags =
    indexes.length === 0
      ? '--disable-indexes'
      : indexes
          .map(({ order, arrayConfig }) =>
            arrayConfig === undefined
              ? `--index=order=${order?.toLowerCase()}`
              : '--index=array-config=contains',
          )
          .join(' ');
  const message =
    indexes.length === 0
      ? `${at} is indexed: writes cost more, and large documents fail.`
      : `${at} has other indexes than its queries need.`;
  const remedy = `gcloud firestore indexes fields update ${word(fieldPath)} --collection-group=${collectionGroup} ${flags} ${command}`;
  return failed('cloud-indexes', message, remedy);
}

function expiryFaults(
  { collectionGroup, fieldPath }: WantedField,
  found: Field | undefined,
  command: string,
): Check[] {
  const state = found?.ttlConfig?.state ?? 'absent';
  if (state === 'ACTIVE') return [];
  const at = `The expiry (TTL) of ${collectionGroup}.${fieldPath}`;
  if (state === 'CREATING') return [notReady(at, state, command)];
  const remedy = `gcloud firestore fields ttls update ${word(fieldPath)} --collection-group=${collectionGroup} --enable-ttl ${command}`;
  return [failed('cloud-ttl', `${at} is ${state === 'absent' ? 'not set' : state}.`, remedy)];
}

function compositeFaults(wanted: WantedComposite, found: readonly Index[], command: string): Check[] {
  const key = keyOfComposite(wanted.collectionGroup, wanted);
  const index = found.find((each) => keyOfComposite(groupOf(each.name ?? ''), each) === key);
  const at = `The index of ${wanted.collectionGroup} (${named(wanted)
    .map(({ fieldPath }) => fieldPath)
    .join(', ')})`;
  if (index !== undefined) {
    return index.state === 'READY' ? [] : [notReady(at, index.state ?? 'CREATING', command)];
  }
  const flags = named(wanted)
    .map((field) => `--field-config=${fieldFlag(field)}`)
    .join(' ');
  const scope = wanted.queryScope.toLowerCase().replace('_', '-');
  const remedy = `gcloud firestore indexes composite create --collection-group=${wanted.collectionGroup} --query-scope=${scope} ${flags} ${command}`;
  return [failed('cloud-indexes', `${at} is missing.`, remedy)];
}

function notReady(what: string, state: string, command: string): Check {
  if (state === 'NEEDS_REPAIR') {
    return failed(
      'cloud-indexes',
      `${what} needs repair.`,
      `Delete it and create it again: gcloud firestore indexes composite list ${command}`,
    );
  }
  return failed(
    'cloud-indexes',
    `${what} is still being built (${state}).`,
    `Wait: gcloud firestore operations list ${command}`,
  );
}

function keyOfField({ queryScope = 'COLLECTION', fields = [] }: Index): string {
  const [{ order, arrayConfig } = {}] = fields;
  return `${queryScope} ${order ?? arrayConfig}`;
}

function fieldFlag({ fieldPath, order, arrayConfig, vectorConfig }: IndexField): string {
  const path = `field-path=${fieldPath}`;
  if (vectorConfig !== undefined) {
    const config = JSON.stringify({ dimension: String(vectorConfig.dimension), flat: '{}' });
    return `${path},vector-config=${word(config)}`;
  }
  return arrayConfig === undefined
    ? `${path},order=${order?.toLowerCase()}`
    : `${path},array-config=contains`;
}

function keyOfComposite(group: string, index: Index | WantedComposite): string {
  const parts = named(index).map(
    ({ fieldPath, order, arrayConfig, vectorConfig }) =>
      `${fieldPath} ${order ?? arrayConfig ?? `vector of ${vectorConfig?.dimension}`}`,
  );
  return [group, index.queryScope, ...parts].join();
}

/** Firestore adds `__name__` itself. */
function named({ fields = [] }: Index | WantedComposite): readonly IndexField[] {
  return fields.filter(({ fieldPath }) => fieldPath !== '__name__');
}

function groupOf(name: string): string {
  return /\/collectionGroups\/([^/]+)\//.exec(name)?.[1] ?? '';
}
