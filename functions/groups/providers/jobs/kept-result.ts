import type { Jobs } from '../../../jobs/admit-job.ts';
import { resultLengthOf, resultsOf } from '../../../jobs/read-jobs.ts';
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
  hold: (bytes: number) => void = () => undefined,
): Promise<readonly (ProviderResult | null)[]> {
  const succeeded = runs.filter(({ status }) => status === 'succeeded');
  for (const run of succeeded) hold(resultLengthOf(run));
  const found = await resultsOf(jobs, succeeded);
  const results = new Map(succeeded.map((run, at) => [run.id, found[at] ?? null]));
  const others = runs.filter(({ status, completedAt }) => completedAt !== null && status !== 'succeeded');
  await Promise.all(
    others.map(async ({ id }) => {
      const [kept] = await findCheckpoints(jobs.runtime, id, [RESULT_KEY]);
      results.set(id, kept?.content ?? null);
    }),
  );
  return runs.map(({ id }) => (results.get(id) ?? null) as ProviderResult | null);
}
