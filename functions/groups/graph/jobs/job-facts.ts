import type { JsonObject } from '../../../kernel/canonical-json.ts';
import { objectOrEmpty } from '../../../kernel/json-kinds.ts';
import type { Run } from '../../../runs/run.ts';

const counts = [
  'recordCount',
  'nodeCount',
  'edgeCount',
  'assertionCount',
  'reviewCount',
  'projectionCount',
  'warningCount',
  'errorCount',
  'anomalyCount',
] as const;

export type GraphJobKind = 'import' | 'inspect' | 'doctor';

export const GRAPH_HANDLERS: Readonly<Record<GraphJobKind, string>> = {
  import: 'svc.graph.import',
  inspect: 'svc.graph.inspect',
  doctor: 'svc.graph.doctor',
};

export function kindOf(handlerId: string): GraphJobKind {
  const kinds = Object.keys(GRAPH_HANDLERS) as GraphJobKind[];
  return kinds.find((kind) => GRAPH_HANDLERS[kind] === handlerId) ?? 'import';
}

export type GraphCounts = { readonly [Name in (typeof counts)[number]]: number };

/** What a job view shows of the graph: of the request, and of the result once there is one. */
export interface GraphJobFacts extends GraphCounts {
  readonly graphId: string | null;
  readonly partitionKey: string | null;
}

const TAGS = {
  graphId: 'svc.graph.graph-id',
  partitionKey: 'svc.graph.partition-key',
  counts: 'svc.graph.counts',
} as const;

/** The longest value of a tag; a longer name is shown once the job has its result. */
const TAG_LENGTH_MAX = 512;

/** Job views of a whole list show the facts, so a run has them beside its payload, which would need a read each. */
export function tagsOf(facts: Partial<GraphJobFacts>): Readonly<Record<string, string>> {
  const named = [
    [TAGS.graphId, facts.graphId?.trim() ?? ''],
    [TAGS.partitionKey, facts.partitionKey?.trim() ?? ''],
    [TAGS.counts, counts.map((name) => facts[name] ?? 0).join(' ')],
  ] as const;
  return Object.fromEntries(named.filter(([, value]) => value !== '' && value.length <= TAG_LENGTH_MAX));
}

/** The facts as the last report of a job carries them. */
export function detailsOf({ graphId, partitionKey, ...rest }: GraphJobFacts): JsonObject {
  return { graphId, partitionKey, ...Object.fromEntries(counts.map((name) => [name, rest[name]])) };
}

export function factsOf({ tags, statusDetails }: Pick<Run, 'tags' | 'statusDetails'>): GraphJobFacts {
  const asked = (tags[TAGS.counts] ?? '').split(' ').map(Number);
  const details = objectOrEmpty(statusDetails ?? undefined);
  const text = (name: 'graphId' | 'partitionKey') => {
    const found = details[name];
    return typeof found === 'string' ? found : (tags[TAGS[name]] ?? null);
  };
  const counted = counts.map((name, index) => {
    const found = details[name];
    return [name, typeof found === 'number' ? found : asked[index] || 0] as const;
  });
  return {
    graphId: text('graphId'),
    partitionKey: text('partitionKey'),
    ...(Object.fromEntries(counted) as GraphCounts),
  };
}
