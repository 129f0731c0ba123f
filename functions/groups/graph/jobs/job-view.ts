import type {
  GraphJob,
  SvcGraphCollectionImportResult,
  SvcGraphCollectionInspectionResult,
  SvcGraphDoctorResult,
} from '../../../../contracts/generated/models.ts';
import { readImportResult } from '../../../collections/import-collection.ts';
import type { RecordParts } from '../../../collections/parts.ts';
import type { JobFamily } from '../../../jobs/job-family.ts';
import type { JobViews } from '../../../jobs/job-operations.ts';
import { jobView, withoutDetails } from '../../../jobs/job-view.ts';
import { keptResults } from '../../../jobs/kept-result.ts';
import { valueOfOrdered } from '../../../jobs/ordered-content.ts';
import type { Json, JsonObject } from '../../../kernel/canonical-json.ts';
import { objectOrEmpty } from '../../../kernel/json-kinds.ts';
import { findCheckpoints } from '../../../runs/read-checkpoints.ts';
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

/** The tag with the kind of a job. */
export const GRAPH_KIND_TAG = 'svc.graph.kind';

export function kindOf({ tags }: Pick<Run, 'tags'>): GraphJobKind {
  return (tags[GRAPH_KIND_TAG] ?? 'import') as GraphJobKind;
}

type GraphCounts = { readonly [Name in (typeof counts)[number]]: number };

/** Facts of the graph in a job view: those of the request, and those of the result after the end. */
export interface GraphJobFacts extends GraphCounts {
  readonly graphId: string | null;
  readonly partitionKey: string | null;
}

const TAGS = {
  graphId: 'svc.graph.graph-id',
  partitionKey: 'svc.graph.partition-key',
  counts: 'svc.graph.counts',
} as const;

/** The longest value of a tag. A job view shows a longer name only with the result. */
const TAG_LENGTH_MAX = 512;

/** The facts as tags, so that a list of jobs need not read each payload. */
export function tagsOf(facts: Partial<GraphJobFacts>): Readonly<Record<string, string>> {
  const named = [
    [TAGS.graphId, facts.graphId?.trim() ?? ''],
    [TAGS.partitionKey, facts.partitionKey?.trim() ?? ''],
    [TAGS.counts, counts.map((name) => facts[name] ?? 0).join(' ')],
  ] as const;
  return Object.fromEntries(named.filter(([, value]) => value !== '' && value.length <= TAG_LENGTH_MAX));
}

/** The facts as details for the last report of a job. */
export function detailsOf({ graphId, partitionKey, ...rest }: GraphJobFacts): JsonObject {
  return { graphId, partitionKey, ...Object.fromEntries(counts.map((name) => [name, rest[name]])) };
}

function factsOf({ tags, statusDetails }: Pick<Run, 'tags' | 'statusDetails'>): GraphJobFacts {
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

export function graphJobView(run: Run, result: Json = null, replayed = false): GraphJob {
  const kind = kindOf(run);
  const of = <Result>(wanted: typeof kind) => (kind === wanted ? (result as Result | null) : null);
  return {
    ...jobView(run, replayed),
    kind,
    collection: run.job?.subject ?? '',
    ...factsOf(run),
    importResult: of<SvcGraphCollectionImportResult>('import'),
    inspectionResult: of<SvcGraphCollectionInspectionResult>('inspect'),
    doctorResult: of<SvcGraphDoctorResult>('doctor'),
  };
}

/** Checkpoint of an import that has written all records: its result without the outcomes of single records. */
export const IMPORTED = 'imported';

export function graphJobViews({ jobs, records }: JobFamily): JobViews<GraphJob, Json> {
  const remade = async (run: Run, grow: (bytes: number) => void) => {
    const [done] = await findCheckpoints(jobs.runtime, run.id, [IMPORTED]);
    const place = { runId: run.id, space: run.job?.space ?? '', collection: run.job?.subject ?? '' };
    return done === null || done === undefined ? null : importedResult(records, place, done.content, grow);
  };
  return {
    list: 'graph-jobs',
    limitDefault: 50,
    cancels: 'delete',
    view: graphJobView,
    unseen: withoutDetails,
    results: (runs, bytes) => keptResults(jobs, runs, { remade }, bytes),
  };
}

/** The result of an import, from its checkpoint and its ledger; `null` if the ledger was removed. */
export async function importedResult(
  records: RecordParts,
  place: { readonly runId: string; readonly space: string; readonly collection: string },
  content: Json,
  grow: (bytes: number) => void = () => undefined,
): Promise<Json> {
  const written = await readImportResult(records, place, grow);
  if (written === null) return null;
  return { ...valueOfOrdered<JsonObject>(content), records: written.records as unknown as Json };
}
