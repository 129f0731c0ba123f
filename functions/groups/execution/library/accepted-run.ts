import type { Caller } from '../../../identity/caller.ts';
import type { ExecutionAccess } from '../../../identity/execution-access.ts';
import { verifiedCaller } from '../../../identity/verified-caller.ts';
import type { AdmittedJob, Jobs } from '../../../jobs/admit-job.ts';
import { asReceipt, wireRun } from './wire-run.ts';

/** The 202 answer for a job that callers see as a run. Without the right to read it, the caller gets receipt and status only. */
export async function acceptedRun(
  { jobs, executionAccess }: { readonly jobs: Jobs; readonly executionAccess: ExecutionAccess | null },
  caller: Caller,
  { run, replayed, headers }: AdmittedJob,
) {
  const whole = !replayed || executionAccess === null || executionAccess.maySee(verifiedCaller(caller), run);
  const seen = whole ? run : asReceipt(run, caller.principal);
  return { status: 202 as const, body: await wireRun(jobs.runtime, seen, { replayed }), headers };
}
