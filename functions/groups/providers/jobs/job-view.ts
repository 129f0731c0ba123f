import { limits } from '../../../../contracts/generated/limits.ts';
import type { JobFamily } from '../../../jobs/job-family.ts';
import type { JobViews } from '../../../jobs/job-operations.ts';
import { jobView } from '../../../jobs/job-view.ts';
import type { RunResultStatus } from '../../../providers/rules/outcome.ts';
import { jobStatusOf } from '../../../providers/rules/run-result.ts';
import type { Run } from '../../../runs/run.ts';
import { factsOf } from './job-facts.ts';
import { type ProviderResult, providerResults } from './kept-result.ts';

export type ProviderJobView = ReturnType<typeof providerJobView>;

/** A job as callers see it. `result` is null where it is not read, or there is none. */
export function providerJobView(run: Run, result: ProviderResult | null = null, replayed = false) {
  const { admission, ...view } = jobView(run, replayed);
  const { createdAt, startedAt, completedAt, durationMs, cancellationRequested, failureClass } = view;
  const details = run.completedAt === null ? null : run.statusDetails;
  return {
    admission,
    id: run.id,
    status: jobStatusOf(run.status, (textOf(details?.['status']) ?? null) as RunResultStatus | null),
    ...factsOf(run),
    correlationId: run.correlationId,
    createdAt,
    startedAt,
    completedAt,
    durationMs,
    cancellationRequested,
    traceId: textOf(details?.['traceId']),
    failureClass,
    providerStatus: textOf(details?.['providerStatus']),
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
    // A job that had ended before shows the request all the same.
    cancelledView: (run, result) => ({ ...providerJobView(run, result), cancellationRequested: true }),
    results: (runs, { hold }) => providerResults(jobs, runs, hold),
  };
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
