import type { ExecutionRun } from '../../contracts/generated/models.ts';
import { answerTable } from '../api/table.ts';
import { jsonText, type OutputForm, outputWidth, resultText } from '../output.ts';
import { printableValues } from '../remote/printable.ts';

/** Runs as a table of the columns that a person looks for. */
export function runsText(output: OutputForm, runs: readonly ExecutionRun[]): string {
  if (output === 'json') return jsonText(runs);
  const rows = runs.map((run) => ({
    id: run.id,
    status:
      run.cancellationRequested && run.completedAtUtc === null ? `${run.status} (cancelling)` : run.status,
    handler: run.handlerId,
    failures: failuresOf(run),
    claims: run.attempt,
    created: run.createdAtUtc,
    completed: run.completedAtUtc,
    tenant: run.scope?.tenantId ?? null,
    failure: run.failureClass,
    error: run.error,
  }));
  return answerTable(rows, outputWidth());
}

/** Members that say nothing to a person who reads the others, and those that stand together in other words. */
const notShown = new Set(['admission', 'payloadHash', 'attempt', 'maxAttempts', 'failures']);

/** A run as one line a member; members without a value are left out. */
export function runText(output: OutputForm, run: ExecutionRun): string {
  if (output === 'json') return jsonText(run);
  const members = Object.entries(run).filter(([name, value]) => value !== null && !notShown.has(name));
  const at = members.findIndex(([name]) => name === 'status') + 1;
  members.splice(at, 0, ['failures', failuresOf(run)], ['claims', run.attempt]);
  return resultText('table', printableValues(Object.fromEntries(members)));
}

/** Claims, also of waits and lost leases, do not count against `maxAttempts`: failures do. */
function failuresOf({ failures, maxAttempts }: Pick<ExecutionRun, 'failures' | 'maxAttempts'>): string {
  return `${failures} of ${maxAttempts}`;
}

/** The state of a run, as one part of a line. */
export function stateOf(run: ExecutionRun): string {
  const done = run.requested === null ? '' : ` ${run.succeeded ?? 0} of ${run.requested}`;
  const step = run.currentStep === null ? '' : ` ${run.currentStep}`;
  const cancelling = run.cancellationRequested && run.completedAtUtc === null ? ' (cancelling)' : '';
  return `${run.status}${cancelling}, failures ${failuresOf(run)}, claims ${run.attempt}${step}${done}`;
}
