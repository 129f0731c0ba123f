import type { CallContext, Handler } from '../../http/handler.ts';
import type { Caller } from '../../identity/caller.ts';
import { serviceIdentityOf } from '../../identity/execution-access.ts';
import { verifiedCaller } from '../../identity/verified-caller.ts';
import { invalidMember, ServiceError } from '../../kernel/errors.ts';
import { checkJson } from '../../kernel/json-bytes.ts';
import { statusUri } from '../../runs/admission.ts';
import { payloadLimit } from '../../runs/checks.ts';
import { cancel, raise } from '../../runs/control.ts';
import { findArtifact, listArtifacts } from '../../runs/read-artifacts.ts';
import { findCheckpoint } from '../../runs/read-runs.ts';
import { isTerminal, type Run, type RunScope } from '../../runs/run.ts';
import { startHere } from '../../runs/start-here.ts';
import { readStartRequest } from '../../runs/start-request.ts';
import { checkName } from '../../runs/text-checks.ts';
import { eventResult } from '../../runs/wait-result.ts';
import type { ExecutionDependencies } from './dependencies.ts';
import { untilEnded } from './library/until-ended.ts';
import { asReceipt, wireRun } from './library/wire-run.ts';
import { guardOf, readable } from './run-guard.ts';
import { wireArtifact, wireCheckpoint } from './wire.ts';

export function startExecutionRun(dependencies: ExecutionDependencies): Handler<'startExecutionRun'> {
  const { runtime, access } = dependencies;
  return async ({ body }, context) => {
    const { caller, now } = context;
    const supplied = body.scope?.serviceIdentity;
    const request = readStartRequest(body, {
      now,
      payloadBytesMax: payloadLimit(runtime.options.payloadBytesMax),
      serviceIdentity: serviceIdentityOf(caller, supplied),
      operationId: 'startExecutionRun',
    });
    if (access !== null) access.authorizeStart(verifiedCaller(caller), request.scope, request.handlerId);
    const started = await startHere(runtime, dependencies.reserve, request, now, {
      startable: () => startableBy(dependencies, caller, request.scope),
      seen: (used) => seenAs(dependencies, caller, used),
    });
    const { replayed, replaced } = started;
    const run = await ended(dependencies, started.run, body.waitSeconds ?? 0, context);
    const headers = {
      Location: statusUri(run.id),
      ...(replayed ? { 'Idempotency-Replayed': 'true' } : {}),
    };
    const wired = await wireRun(runtime, run, { replayed });
    return { status: 202, body: replaced === true ? { ...wired, replaced } : wired, headers };
  };
}

/** The started run, at its end or when the wait time is over. Waits only for a caller that may read the run. */
async function ended(
  { runtime, access }: ExecutionDependencies,
  started: Run,
  waitSeconds: number,
  context: CallContext,
): Promise<Run> {
  const { caller } = context;
  const mayRead = access === null || access.maySee(verifiedCaller(caller), started);
  if (waitSeconds === 0 || !mayRead || isTerminal(started.status)) return started;
  // The run has started, so a failed read must not look like a refused start.
  const waitMs = milliseconds(waitSeconds);
  return untilEnded(runtime, { runId: started.id, waitMs }, context).catch(() => started);
}

function milliseconds(seconds: number): number {
  return Math.ceil(seconds * 1_000);
}

/** The run in the answer to a change. Only a caller that may read the run gets the whole of it. */
function seenAs({ access }: ExecutionDependencies, caller: Caller, run: Run): Run {
  if (access === null || access.maySee(verifiedCaller(caller), run)) return run;
  return asReceipt(run, caller.principal);
}

/** Ids of the handlers that the caller may start in the scope. */
function startableBy(
  { runtime, access }: ExecutionDependencies,
  caller: Caller,
  scope: RunScope | null,
): readonly string[] {
  const known = runtime.registry.handlersIn(scope).map(({ handlerId }) => handlerId);
  const inProduct = known.filter((handlerId) => runtime.policies.allowsHandler(scope, handlerId));
  if (access === null) return inProduct;
  const allowed = access.allowedHandlers(verifiedCaller(caller), scope) ?? [];
  return allowed === 'all' ? inProduct : inProduct.filter((handlerId) => allowed.includes(handlerId));
}

export function getExecutionRun(dependencies: ExecutionDependencies): Handler<'getExecutionRun'> {
  const { runtime } = dependencies;
  return async ({ params: { runId }, query }, context) => {
    const guard = guardOf(dependencies, context.caller, 'read_run');
    const waitMs = milliseconds(query.waitSeconds ?? 0);
    const run = await untilEnded(runtime, { runId, waitMs, look: guard }, context);
    return { status: 200, body: await wireRun(runtime, run, { includeResult: query.includeResult ?? true }) };
  };
}

export function cancelExecutionRun(dependencies: ExecutionDependencies): Handler<'cancelExecutionRun'> {
  const { runtime } = dependencies;
  return async ({ params: { runId } }, { caller, now }) => {
    const run = await cancel(runtime, runId, guardOf(dependencies, caller, 'cancel_run'), now);
    return { status: 200, body: await wireRun(runtime, seenAs(dependencies, caller, run)) };
  };
}

export function raiseExecutionEvent(dependencies: ExecutionDependencies): Handler<'raiseExecutionEvent'> {
  const { runtime } = dependencies;
  return async ({ params: { runId }, body }, { caller, now }) => {
    if (body.runId !== undefined && body.runId !== null && body.runId.trim() !== runId) {
      throw invalidMember('/runId', 'must be the one of the route', 'run_mismatch');
    }
    const payload = body.payload ?? null;
    const bytes = checkJson(payload, payloadLimit(runtime.options.payloadBytesMax), '/payload');
    const name = checkName(body.name, '/name');
    const guard = guardOf(dependencies, caller, 'raise_event');
    const event = await raise(runtime, runId, { name, payload, bytes }, guard, now);
    return { status: 200, body: await eventResult(runtime, runId, event) };
  };
}

export function listExecutionRunArtifacts(
  dependencies: ExecutionDependencies,
): Handler<'listExecutionRunArtifacts'> {
  return async ({ params: { runId } }, { caller }) => {
    await readable(dependencies, caller, runId);
    const artifacts = await listArtifacts(dependencies.runtime, runId);
    return { status: 200, body: artifacts.map(wireArtifact) };
  };
}

export function getExecutionRunArtifact(
  dependencies: ExecutionDependencies,
): Handler<'getExecutionRunArtifact'> {
  return async ({ params: { runId, artifactRef } }, { caller, hold }) => {
    await readable(dependencies, caller, runId);
    const artifact = await findArtifact(dependencies.runtime, runId, artifactRef, hold);
    if (artifact === null) throw new ServiceError('not_found', 'The run has no such artifact');
    return { status: 200, body: wireArtifact(artifact) };
  };
}

export function getExecutionRunCheckpoint(
  dependencies: ExecutionDependencies,
): Handler<'getExecutionRunCheckpoint'> {
  return async ({ params: { runId, key } }, { caller }) => {
    await readable(dependencies, caller, runId);
    const found = await findCheckpoint(dependencies.runtime, runId, key);
    if (found === null) throw new ServiceError('not_found', 'The run has no such checkpoint');
    return { status: 200, body: wireCheckpoint(found) };
  };
}
