import type {
  GraphJob,
  SvcGraphCollectionImportResult,
  SvcGraphCollectionInspectionResult,
  SvcGraphDoctorResult,
} from '../../../../contracts/generated/models.ts';
import { readImportResult } from '../../../collections/import-collection.ts';
import type { RecordParts } from '../../../collections/parts.ts';
import type { Jobs } from '../../../jobs/admit-job.ts';
import { jobView } from '../../../jobs/job-view.ts';
import { valueOfOrdered } from '../../../jobs/ordered-content.ts';
import type { Json, JsonObject } from '../../../kernel/canonical-json.ts';
import { findCheckpoints } from '../../../runs/read-checkpoints.ts';
import type { Run } from '../../../runs/run.ts';
import { keptResults, type ResultBytes } from '../../records/library/kept-result.ts';
import { factsOf } from './job-facts.ts';
import { kindOf } from './job-parts.ts';

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

/** The results of the jobs in their order, or of as many of the first jobs as one answer carries. */
export function graphResults(
  jobs: Jobs,
  records: RecordParts,
  runs: readonly Run[],
  bytes: ResultBytes,
): Promise<readonly Json[]> {
  return keptResults(jobs, runs, bytes, async (run, grow) => {
    const [done] = await findCheckpoints(jobs.runtime, run.id, [IMPORTED]);
    const place = { runId: run.id, space: run.job?.space ?? '', collection: run.job?.subject ?? '' };
    return done === null || done === undefined ? null : importedResult(records, place, done.content, grow);
  });
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
