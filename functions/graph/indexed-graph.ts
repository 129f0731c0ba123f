import { equalInPartition, havingAll, type RecordReader } from '../collections/candidates.ts';
import type { RecordValue } from '../collections/rules/record-key.ts';
import { recordValue } from '../collections/rules/stored-text.ts';
import { recordKey } from '../collections/store-collections.ts';
import { storedText } from '../collections/stored-content.ts';
import { objectOrEmpty } from '../kernel/json-kinds.ts';
import type { RecordData } from '../store/port.ts';
import { type GraphChoice, indexed, indexedMetadata, isOfGraph, partitionIn } from './graph-query.ts';
import type { GraphAssertion, GraphEdge, GraphKind, GraphNode, GraphReview } from './rules/elements.ts';
import { statusesOf } from './rules/graph-lists.ts';
import { elementIn, inRecordOrder } from './rules/rebuild.ts';
import { graphRecordId } from './rules/record-ids.ts';
import type { Ask, EdgePage, GraphAnswer, Side } from './rules/walk.ts';

const EDGES_A_PAGE = 50;
const KEYS_A_READ = 100;

/** Answers a walk from the indexes of a collection: the cost grows with the visited elements. */
export class IndexedGraph {
  readonly #reader: RecordReader;
  readonly #choice: GraphChoice;
  /** With a partition, elements are read by key, and edges page by page in the order of their records. */
  readonly #partitionKey: string | null;

  constructor(reader: RecordReader, choice: GraphChoice) {
    this.#reader = reader;
    this.#choice = choice;
    this.#partitionKey = partitionIn(choice);
  }

  async answer(asked: Ask): Promise<GraphAnswer> {
    switch (asked.ask) {
      case 'nodes':
        return { ask: 'nodes', nodes: await this.#byIds<GraphNode>('node', asked.ids) };
      case 'edges':
        return this.#edges(asked.nodeId, asked.side, asked.after);
      default:
        return { ask: 'statuses', statuses: await this.#statuses(asked.edge) };
    }
  }

  async #edges(nodeId: string, side: Side, after: string | null): Promise<EdgePage> {
    const path = side === 'outgoing' ? 'sourceId' : 'targetId';
    // The lists of several partitions have no common order of ids: they are read whole and then sorted.
    if (this.#partitionKey === null)
      return { ask: 'edges', edges: elementsOf(await this.#all('edge', path, nodeId), 'edge'), next: null };
    const edges: GraphEdge[] = [];
    for await (const { record, place } of this.#having('edge', path, nodeId, after)) {
      const edge = elementIn<GraphEdge>(record, 'edge');
      if (edge !== null) edges.push(edge);
      if (edges.length >= EDGES_A_PAGE) return { ask: 'edges', edges, next: place };
    }
    return { ask: 'edges', edges, next: null };
  }

  async #statuses(edge: GraphEdge) {
    const named = await this.#byIds<GraphAssertion>('assertion', edge.assertionIds ?? []);
    const ofEdge = elementsOf<GraphAssertion>(
      await this.#all('assertion', 'subjectId', edge.id),
      'assertion',
    );
    const assertions = [...named.values(), ...ofEdge];
    const reviews: GraphReview[] = [];
    for (const id of new Set([edge.id, ...assertions.map((each) => each.id)]))
      reviews.push(...elementsOf<GraphReview>(await this.#all('review', 'subjectId', id), 'review'));
    return statusesOf(edge, assertions, reviews);
  }

  async #byIds<Element extends { readonly id: string }>(
    kind: 'node' | 'assertion',
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, Element>> {
    const found = new Map<string, Element>();
    const take = (records: readonly RecordValue[]) => {
      for (const element of elementsOf<Element>(records, kind))
        if (!found.has(element.id)) found.set(element.id, element);
    };
    const wanted = [...new Set(ids)];
    if (this.#partitionKey !== null) take(await this.#byKeys(kind, wanted, this.#partitionKey));
    // A record that a caller wrote without an import may have another key.
    for (const id of wanted) {
      if (found.has(id)) continue;
      const records = await this.#all(kind, `${kind}Id`, id);
      take(records);
      // An edge may name thousands of missing elements, and each lookup costs the store a read.
      if (records.length === 0) this.#reader.budget.spend(1, 0);
    }
    return found;
  }

  async #byKeys(
    kind: 'node' | 'assertion',
    ids: readonly string[],
    partitionKey: string,
  ): Promise<readonly RecordValue[]> {
    const records: RecordValue[] = [];
    const { moment, incarnation, budget } = this.#reader;
    for (let at = 0; at < ids.length; at += KEYS_A_READ) {
      const keys = ids.slice(at, at + KEYS_A_READ).map((id) => {
        const key = recordKey(incarnation, { partitionKey, id: graphRecordId(kind, id) });
        return { key, view: 'body' } as const;
      });
      budget.room();
      const read = (await moment.query({ by: 'keys', keys })).records;
      budget.spend(read.length, charactersOf(read));
      records.push(...read.map(valueOf).filter((record) => isOfGraph(record, kind, this.#choice)));
    }
    return records;
  }

  /** All records of a kind with a value in their metadata, in record order. */
  async #all(kind: GraphKind, member: string, value: string): Promise<readonly RecordValue[]> {
    const records: RecordValue[] = [];
    for await (const { record } of this.#having(kind, member, value, null)) records.push(record);
    return inRecordOrder(records);
  }

  async *#having(kind: GraphKind, member: string, value: string, after: string | null) {
    const [index, text] = indexed(`/metadata/${member}`, value);
    const driver = { by: 'equal', index, value: text } as const;
    const found =
      this.#partitionKey === null
        ? havingAll(this.#reader, { ...indexedMetadata(this.#choice), [index]: text })
        : equalInPartition(this.#reader, driver, this.#partitionKey, after);
    for await (const data of found) {
      const record = valueOf(data);
      // An index holds only the beginning of a long value.
      const isSame = objectOrEmpty(record['metadata'])[member] === value;
      if (isSame && isOfGraph(record, kind, this.#choice)) yield { record, place: data.listing?.id ?? '' };
    }
  }
}

function elementsOf<Element>(records: readonly RecordValue[], kind: GraphKind): Element[] {
  return records.flatMap((record) => {
    const element = elementIn<Element>(record, kind);
    return element === null ? [] : [element];
  });
}

function valueOf(data: RecordData): RecordValue {
  return recordValue(storedText(data), { vectors: false });
}

function charactersOf(records: readonly RecordData[]): number {
  return records.reduce((sum, { body }) => sum + (body?.length ?? 0), 0);
}
