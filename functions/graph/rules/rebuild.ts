import type { RecordValue } from '../../collections/rules/record-key.ts';
import { orderKey } from '../../collections/rules/record-key.ts';
import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import { isJsonObject, objectOrEmpty } from '../../kernel/json-kinds.ts';
import { compareUtf8 } from '../../kernel/utf8-order.ts';
import type {
  GraphAssertion,
  GraphEdge,
  GraphEnvelope,
  GraphNode,
  GraphProjection,
  GraphReview,
  GraphScope,
} from './elements.ts';
import { GRAPH_SCHEMA } from './limits.ts';
import { readScope } from './read-scope.ts';
import { isSound, type SoundModel } from './sound-element.ts';

/** The element of a record; `null` if it has none, for example a record that a caller wrote without an import. */
export function elementIn<Element>({ content }: RecordValue, kind: string): Element | null {
  if (typeof content !== 'object' || content === null || !Object.hasOwn(content, kind)) return null;
  const element = (content as JsonObject)[kind] ?? null;
  return isJsonObject(element) && isSound(element, kind as SoundModel) ? (element as Element) : null;
}

/**
 * The order in which a traversal meets elements, by the ids of their records. The indexes of a collection list a partition in this
 * order, so a walk over an export and a walk over indexes meet the same edge first.
 */
export function inRecordOrder(records: readonly RecordValue[]): readonly RecordValue[] {
  const keyed = records.map((record) => ({ record, id: orderKey({ partitionKey: '', id: record.id }) }));
  keyed.sort((a, b) => compareUtf8(a.id, b.id) || compareUtf8(a.record.partitionKey, b.record.partitionKey));
  return keyed.map(({ record }) => record);
}

/** The graph of records in their order, one record a step. Its name is that of the first envelope, else of the first record's metadata. */
export function* rebuildEnvelope(records: readonly RecordValue[]): Generator<void, GraphEnvelope> {
  const own = records.find(({ type }) => type === 'graph.envelope');
  const content = objectOrEmpty(own?.['content']);
  const schema = content['schema'] ?? own?.['schemaVersion'] ?? records[0]?.['schemaVersion'];
  const metadata = content['metadata'] ?? null;
  return {
    schema: typeof schema === 'string' ? schema : GRAPH_SCHEMA,
    scope: scopeIn(records),
    metadata: isJsonObject(metadata) ? metadata : null,
    nodes: yield* elementsAmong<GraphNode>(records, 'node'),
    edges: yield* elementsAmong<GraphEdge>(records, 'edge'),
    assertions: yield* elementsAmong<GraphAssertion>(records, 'assertion'),
    reviews: yield* elementsAmong<GraphReview>(records, 'review'),
    projections: yield* elementsAmong<GraphProjection>(records, 'projection'),
  };
}

function* elementsAmong<Element>(records: readonly RecordValue[], kind: string): Generator<void, Element[]> {
  const found: Element[] = [];
  for (const record of records) {
    if (record['type'] !== `graph.${kind}`) continue;
    const element = elementIn<Element>(record, kind);
    if (element !== null) found.push(element);
    yield;
  }
  return found;
}

/** The scope of the graph of the records. */
export function scopeIn(records: readonly RecordValue[]): GraphScope {
  const own = records.find(({ type }) => type === 'graph.envelope');
  if (own === undefined) return scopeInMetadata(records[0]);
  return readScope(objectOrEmpty(objectOrEmpty(own['content'])['scope']));
}

/** The ids of the nodes among the records. */
export function nodeIdsOf(records: readonly RecordValue[]): ReadonlySet<string> {
  const nodes = records.filter(({ type }) => type === 'graph.node');
  return new Set(nodes.flatMap((record) => elementIn<GraphNode>(record, 'node')?.id ?? []));
}

function scopeInMetadata(record: RecordValue | undefined): GraphScope {
  const { graphId, namespace, scopeCollection, tenantId } = objectOrEmpty(record?.['metadata']);
  const members = {
    graphId,
    namespace,
    collection: scopeCollection,
    tenantId,
    partitionKey: record?.partitionKey,
  };
  return readScope(
    Object.fromEntries(
      Object.entries(members).filter((member): member is [string, Json] => member[1] !== undefined),
    ),
  );
}
