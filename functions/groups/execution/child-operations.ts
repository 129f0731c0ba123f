import type { ExecutionChildRunOutcome, ExecutionWaitResult } from '../../../contracts/generated/models.ts';
import type { CallContext, Handler } from '../../http/handler.ts';
import { canonicalJson, sha256 } from '../../kernel/canonical-json.ts';
import { invalidMember, ServiceError } from '../../kernel/errors.ts';
import { identifier } from '../../kernel/identifiers.ts';
import { formatUtc } from '../../kernel/timestamp.ts';
import { checkMoment } from '../../runs/checks.ts';
import type { StartRequest } from '../../runs/rules/start.ts';
import type { Run } from '../../runs/run.ts';
import { startChild } from '../../runs/start-child.ts';
import { payloadLimit, readStartRequest } from '../../runs/start-request.ts';
import { checkName } from '../../runs/text-checks.ts';
import { type ChildEnd, resultOfChild, waitForChildRun } from '../../runs/wait-child.ts';
import { waitResult } from '../../runs/wait-result.ts';
import type { ExecutionDependencies } from './dependencies.ts';
import { heldBy } from './lease-proof.ts';
import { leaseAfter } from './lease-wish.ts';
import { wireRun } from './library/wire-run.ts';
import { writeNameOf } from './write-name.ts';

/** The operations with which a worker starts children of its run and waits for them. */

type ChildBody = Parameters<Handler<'startExternalExecutionLeaseChild'>>[0]['body'];
type WaitBody = Parameters<Handler<'waitExternalExecutionLease'>>[0]['body'];

export function startExternalExecutionLeaseChild(
  dependencies: ExecutionDependencies,
): Handler<'startExternalExecutionLeaseChild'> {
  return async ({ body }, { caller, now }) => {
    const writeId = identifier(body.writeId, '/writeId');
    const requestHash = sha256(canonicalJson(body.child));
    const cancelWithParent = body.child.cancelWithParent === true;
    const held = heldBy(dependencies, caller, body);
    const start = { writeId, requestHash, cancelWithParent };
    const requestOf = (parent: Run) => childRequest(dependencies, body, parent, now);
    const { runId, replayed } = await startChild(dependencies.runtime, held, start, requestOf, now);
    return { status: 200, body: { runId, parentRunId: held.runId, replayed } };
  };
}

/** The child has the scope, the principal and the correlation id of its parent. */
function childRequest(
  { runtime, access }: ExecutionDependencies,
  { child }: ChildBody,
  parent: Run,
  now: number,
): StartRequest {
  const { cancelWithParent: _, ...body } = child;
  const request = readStartRequest(body, {
    now,
    payloadBytesMax: payloadLimit(runtime.options.payloadBytesMax),
    serviceIdentity: null,
    operationId: 'startExternalExecutionLeaseChild',
    pointer: '/child',
  });
  const { scope, correlationId } = parent;
  // The worker acts for the principal that started the parent, and starts nothing that this one could not.
  if (access !== null) {
    const principal = scope?.serviceIdentity ?? null;
    if (principal === null) throw new ServiceError('permission_denied', 'The run has no verified principal');
    access.authorizeStart({ kind: 'workload', principal }, scope, request.handlerId);
  }
  return { ...request, scope, correlationId };
}

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
