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
import { findCheckpoints } from '../../../runs/read-checkpoints.ts';
import type { Run } from '../../../runs/run.ts';
import { factsOf, kindOf } from './job-facts.ts';

export function graphJobView(run: Run, result: Json = null, replayed = false): GraphJob {
  const kind = kindOf(run.handlerId);
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

/** Checkpoint of an import that has written everything: its result without what happened to the single records. */
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

/** What an import has written, from its checkpoint and its ledger; `null` where the ledger is gone. */
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
