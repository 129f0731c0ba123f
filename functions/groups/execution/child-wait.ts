import type { ExecutionChildRunOutcome, ExecutionWaitResult } from '../../../contracts/generated/models.ts';
import type { CallContext, Handler } from '../../http/handler.ts';
import { invalidMember } from '../../kernel/errors.ts';
import { identifier } from '../../kernel/identifiers.ts';
import { formatUtc } from '../../kernel/timestamp.ts';
import { checkMoment } from '../../runs/checks.ts';
import { checkName } from '../../runs/text-checks.ts';
import { type ChildEnd, resultOfChild, waitForChildRun } from '../../runs/wait-child.ts';
import { waitResult } from '../../runs/wait-result.ts';
import type { ExecutionDependencies } from './dependencies.ts';
import { heldBy } from './lease-proof.ts';
import { leaseAfter } from './lease-wish.ts';
import { wireRun } from './library/wire-run.ts';
import { writeNameOf } from './write-name.ts';

type WaitBody = Parameters<Handler<'waitExternalExecutionLease'>>[0]['body'];

/** A wait for a child run. */
export async function waitForChildOf(
  dependencies: ExecutionDependencies,
  body: WaitBody,
  context: CallContext,
): ReturnType<Handler<'waitExternalExecutionLease'>> {
  const { runtime } = dependencies;
  const { caller, now } = context;
  const wait = childWaitOf(body, now);
  const after = leaseAfter(dependencies, body.leaseNext);
  const held = heldBy(dependencies, caller, body);
  const { run, answer } = await waitForChildRun(runtime, held, wait, now);
  const waited = await wireRun(runtime, run);
  if (answer !== 'waits') {
    const outcome = 'child' in answer ? await childResult(dependencies, answer) : null;
    const ended = outcome ?? ('child' in answer ? null : await waitResult(runtime, run.id, answer));
    return { status: 200, body: { run: waited, suspended: false, outcome: ended } };
  }
  const next = await after(held.workerId, context);
  return { status: 200, body: { run: waited, suspended: true, outcome: null, ...next } };
}

function childWaitOf(body: WaitBody, now: number) {
  const { name: given, names, runId: child, timeoutAtUtc, fireAtUtc, waitId } = body;
  const name = checkName(given, '/name');
  if (child === undefined || child === null) throw invalidMember('/runId', 'is needed for the kind run');
  if (fireAtUtc !== undefined && fireAtUtc !== null)
    throw invalidMember('/fireAtUtc', 'must be left out when waiting for a run');
  if (names !== undefined && names !== null)
    throw invalidMember('/names', 'must be left out when waiting for a run');
  const runId = identifier(child, '/runId');
  const dueAt =
    timeoutAtUtc === undefined || timeoutAtUtc === null
      ? null
      : checkMoment(timeoutAtUtc, now, '/timeoutAtUtc');
  const write = writeNameOf(waitId, () => ({ kind: 'run', name, runId, dueAt }), '/waitId');
  return { name, runId, dueAt, write };
}

async function childResult(
  { runtime }: ExecutionDependencies,
  { runId, name, child }: ChildEnd,
): Promise<ExecutionWaitResult> {
  const result = child === null ? null : await resultOfChild(runtime, child);
  const run: ExecutionChildRunOutcome = {
    runId,
    status: child?.status ?? 'unknown',
    failureClass: child?.failureClass ?? null,
    error: child?.error ?? null,
    result: result ?? null,
    resultRemoved: result === undefined,
    completedAtUtc: child === null ? null : formatUtc(child.completedAt),
  };
  return { name, outcome: 'run', event: null, timer: null, run };
}
