import type { Jobs } from '../../../jobs/admit-job.ts';
import { resultsOf } from '../../../jobs/read-jobs.ts';
import type { resultOf } from '../../../providers/rules/run-result.ts';
import { findCheckpoints } from '../../../runs/read-checkpoints.ts';
import type { Run } from '../../../runs/run.ts';

export type ProviderResult = ReturnType<typeof resultOf>;

/** The checkpoint of a result without a success: such a run has no result of its own. */
export const RESULT_KEY = 'result';

/** The results of the jobs in their order; `null` for a job that has none, or none yet. */
export async function providerResults(
  jobs: Jobs,
  runs: readonly Run[],
): Promise<readonly (ProviderResult | null)[]> {
  const succeeded = runs.filter(({ status }) => status === 'succeeded');
  const found = await resultsOf(jobs, succeeded);
  const results = new Map(succeeded.map((run, at) => [run.id, found[at] ?? null]));
  for (const run of runs) {
    if (run.completedAt === null || run.status === 'succeeded') continue;
    const [kept] = await findCheckpoints(jobs.runtime, run.id, [RESULT_KEY]);
    results.set(run.id, kept?.content ?? null);
  }
  return runs.map(({ id }) => (results.get(id) ?? null) as ProviderResult | null);
}
