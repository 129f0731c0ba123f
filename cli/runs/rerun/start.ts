import type { ExecutionRun, ExecutionRunRequest } from '../../../contracts/generated/models.ts';
import { operations } from '../../../contracts/generated/operations.ts';
import type { JsonValue } from '../../../sdk/typescript/src/generated/models.ts';
import { exitCodes, ToolError } from '../../output.ts';
import { RUN } from '../../remote/answer-shape.ts';
import { callOperation } from '../../remote/operations.ts';
import type { Remote } from '../../remote.ts';
import { type CutJournal, cutJournal } from '../journal/cut.ts';
import { readPlainRun, readSegments, readValues } from '../journal/read.ts';
import { checkSize, rerunRequest } from './request.ts';

export interface RerunHow {
  /** The first step that runs again; absent for all. */
  readonly from?: string | undefined;
  readonly payload?: JsonValue | undefined;
  readonly idempotencyKey?: string | undefined;
  /** Also a run that goes on, and results that the run has undone. */
  readonly force: boolean;
}

export interface RerunPlan {
  readonly request: ExecutionRunRequest;
  readonly cut: CutJournal | null;
}

/** Reads the run, and makes the start of its repetition. */
export async function planRerun(
  remote: Remote,
  runId: string,
  how: RerunHow,
  signal?: AbortSignal,
): Promise<RerunPlan> {
  const run = await readPlainRun(remote, runId, signal);
  if (run.completedAtUtc === null && !how.force)
    throw conflict(
      `The run is ${run.status}: svc runs cancel ends it, and --force starts another one beside it.`,
    );
  const cut = how.from === undefined ? null : cutJournal(await readSegments(remote, runId, signal), how.from);
  if (cut !== null && cut.undone.length > 0 && !how.force) throw undone(cut);
  const values = await readValues(remote, runId, cut?.values ?? [], signal);
  const request = rerunRequest(run, { ...how, journal: cut === null ? null : { cut, values } });
  checkSize(request, operations.startExecutionRun.bodyLimitBytes ?? 0);
  return { request, cut };
}

/** The new run. */
export async function startAgain(
  remote: Remote,
  body: ExecutionRunRequest,
  signal?: AbortSignal,
): Promise<ExecutionRun> {
  const call = { id: 'startExecutionRun', params: [], body, signal, shape: RUN };
  return (await callOperation<ExecutionRun>(remote, call)).data;
}

function undone({ undone: keys }: CutJournal): ToolError {
  const names = keys.map((key) => JSON.stringify(key)).join(', ');
  return conflict(
    `The run has undone ${names}, whose results the new run would keep: --from ${JSON.stringify(keys[0])} does them again, and --force keeps them.`,
  );
}

function conflict(message: string): ToolError {
  return new ToolError(message, exitCodes.conflict);
}
