import type { QueryRequest } from '../collections/page-request.ts';
import type { FilterNode } from '../collections/rules/filter.ts';
import { indexValue } from '../collections/rules/index-value.ts';
import { readPath } from '../collections/rules/path.ts';
import { indexName, type ProjectedValues } from '../collections/rules/projection.ts';
import type { RecordValue } from '../collections/rules/record-key.ts';
import { objectOrEmpty } from '../kernel/json-kinds.ts';
import type { GraphKind } from './rules/elements.ts';

/** Selects a graph of a collection; a member that is `null` restricts nothing. */
export interface GraphChoice {
  readonly graphId?: string | null;
  readonly namespace?: string | null;
  readonly tenantId?: string | null;
  readonly partitionKey?: string | null;
}

/** The metadata of the records of the selected graph. */
export function chosenMetadata(choice: GraphChoice): Readonly<Record<string, string>> {
  const { graphId, namespace, tenantId, partitionKey } = choice;
  const wanted = { graphId, namespace, tenantId, graphPartitionKey: partitionKey };
  return Object.fromEntries(
    Object.entries(wanted).flatMap(([name, value]) =>
      value === null || value === undefined || value.trim() === '' ? [] : [[name, value.trim()]],
    ),
  );
}

/** The index values of these records. */
export function indexedMetadata(choice: GraphChoice): ProjectedValues {
  return Object.fromEntries(
    Object.entries(chosenMetadata(choice)).map(([name, value]) => indexed(`/metadata/${name}`, value)),
  );
}

export function indexedType(kind: GraphKind): ProjectedValues {
  return Object.fromEntries([indexed('/type', `graph.${kind}`)]);
}

/** The index of a path, and a value in the form of the index. */
export function indexed(path: string, value: string): readonly [index: string, value: string] {
  return [indexName(readPath(path, '')), indexValue(value) ?? ''];
}

export function partitionIn(choice: GraphChoice): string | null {
  return chosenMetadata(choice)['graphPartitionKey'] ?? null;
}

const exported: readonly GraphKind[] = ['envelope', 'node', 'edge', 'assertion', 'review', 'projection'];

/** The kinds of records of an export. */
export function exportedKinds(includeProjections: boolean): readonly GraphKind[] {
  return includeProjections ? exported : exported.filter((kind) => kind !== 'projection');
}

/** The query that finds the records of a graph, by type and id. */
export function graphQuery(choice: GraphChoice, kinds: readonly GraphKind[]): QueryRequest {
  const equalities: readonly FilterNode[] = Object.entries(chosenMetadata(choice)).map(([name, value]) => ({
    path: `/metadata/${name}`,
    op: 'eq',
    value,
  }));
  const types: FilterNode = { path: '/type', op: 'in', value: kinds.map((kind) => `graph.${kind}`) };
  const partitionKey = partitionIn(choice);
  return {
    ...(partitionKey === null ? {} : { partitionKeys: [partitionKey] }),
    filter: { combine: 'all', children: [...equalities, types] },
    orderBy: [{ path: '/type' }, { path: '/id' }],
  };
}

/** Whether a record has the kind and belongs to the selected graph. */
export function isOfGraph(record: RecordValue, kind: GraphKind, choice: GraphChoice): boolean {
  const partitionKey = partitionIn(choice);
  if (record['type'] !== `graph.${kind}` || (partitionKey !== null && record.partitionKey !== partitionKey))
    return false;
  const metadata = objectOrEmpty(record['metadata']);
  return Object.entries(chosenMetadata(choice)).every(([name, value]) => metadata[name] === value);
}
