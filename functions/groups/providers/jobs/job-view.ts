import { limits } from '../../../../contracts/generated/limits.ts';
import type { ProviderAccess } from '../../../identity/provider-access.ts';
import type { Jobs } from '../../../jobs/admit-job.ts';
import type { JobFamily } from '../../../jobs/job-family.ts';
import type { JobViews } from '../../../jobs/job-operations.ts';
import { jobFacts } from '../../../jobs/job-plugin.ts';
import { jobView, textOrNull } from '../../../jobs/job-view.ts';
import type { ResultBytes } from '../../../jobs/kept-result.ts';
import { resultLengthOf, resultsOf } from '../../../jobs/read-jobs.ts';
import type { PatienceParts } from '../../../providers/patience.ts';
import type { RegisteredProvider } from '../../../providers/registered.ts';
import type { RunResultStatus } from '../../../providers/rules/outcome.ts';
import { jobStatusOf, type resultOf } from '../../../providers/rules/run-result.ts';
import type { CapabilityParts } from '../../../providers/run-capability.ts';
import { findCheckpoints } from '../../../runs/read-checkpoints.ts';
import type { Run } from '../../../runs/run.ts';

/** The layers of the jobs that run capabilities. A request always fits in its run, so nothing is staged. */
export interface ProviderLayers {
  readonly patience: PatienceParts;
  readonly capabilities: CapabilityParts;
  /** `undefined`: the settings have no such provider. */
  readonly provider: (id: string) => RegisteredProvider | undefined;
  readonly access: ProviderAccess;
}

/** Facts of the request. */
export interface ProviderJobFacts {
  readonly provider: string;
  readonly capability: string;
  readonly operation: string;
  readonly mode: string;
  /** Hash of the payload of the capability. */
  readonly requestHash: string;
}

export const providerJobFacts = jobFacts<ProviderJobFacts>({
  provider: ['svc.provider', ''],
  capability: ['svc.provider.capability', ''],
  operation: ['svc.provider.operation', ''],
  mode: ['svc.provider.mode', ''],
  requestHash: ['svc.provider.payload-hash', ''],
});

export type ProviderResult = ReturnType<typeof resultOf>;

export type ProviderJobView = ReturnType<typeof providerJobView>;

/** The view of a job. `result` is null if it was not read or does not exist. */
export function providerJobView(run: Run, result: ProviderResult | null = null, replayed = false) {
  const { admission, ...view } = jobView(run, replayed);
  const { createdAt, startedAt, completedAt, durationMs, cancellationRequested, failureClass } = view;
  const details = run.completedAt === null ? null : run.statusDetails;
  return {
    admission,
    id: run.id,
    status: jobStatusOf(run.status, textOrNull(details?.['status']) as RunResultStatus | null),
    ...providerJobFacts.factsOf(run.tags),
    correlationId: run.correlationId,
    createdAt,
    startedAt,
    completedAt,
    durationMs,
    cancellationRequested,
    traceId: textOrNull(details?.['traceId']),
    failureClass,
    providerStatus: textOrNull(details?.['providerStatus']),
    result,
  };
}

export function providerJobViews({
  jobs,
}: Pick<JobFamily, 'jobs'>): JobViews<ProviderJobView, ProviderResult> {
  return {
    list: 'provider-jobs',
    limitDefault: limits.providerJobListLimitDefault,
    isByProvider: true,
    cancels: 'run',
    view: providerJobView,
    // A job that had ended before also shows the cancellation request.
    cancelledView: (run, result) => ({ ...providerJobView(run, result), cancellationRequested: true }),
    results: (runs, bytes) => providerResults(jobs, runs, bytes),
  };
}

/** The checkpoint of an unsuccessful result, because a failed run holds no result. */
export const RESULT_KEY = 'result';

/** The results of the jobs in their order; `null` for a job without a result. */
async function providerResults(
  jobs: Jobs,
  runs: readonly Run[],
  { hold }: ResultBytes,
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
