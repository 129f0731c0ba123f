import type { ExecutionRunResult } from '../../../contracts/generated/models.ts';
import type { Handler } from '../../http/handler.ts';
import { placeOwnerOf } from '../../identity/caller.ts';
import { verifiedCaller } from '../../identity/verified-caller.ts';
import { ExpectedAbsence, invalidMember } from '../../kernel/errors.ts';
import { identifier } from '../../kernel/identifiers.ts';
import { checkpoint, readCheckpoint } from '../../runs/checkpoint.ts';
import {
  checkArtifact,
  checkCheckpoint,
  checkCheckpointEvent,
  checkReport,
  checkResult,
  checkTrace,
  payloadLimit,
} from '../../runs/checks.ts';
import { leaseNamed } from '../../runs/lease-named.ts';
import { leaseNext } from '../../runs/lease-next.ts';
import { putArtifact } from '../../runs/put-artifact.ts';
import { checkName } from '../../runs/text-checks.ts';
import { waitResult } from '../../runs/wait-result.ts';
import { complete, heartbeat, recordEvent, release, report, wait } from '../../runs/work.ts';
import { waitForChildOf } from './child-wait.ts';
import type { ExecutionDependencies } from './dependencies.ts';
import { heldBy, judgeByLease } from './lease-proof.ts';
import {
  leaseAfter,
  leaseWish,
  namedHandlers,
  ttlOf,
  unknownHeaders,
  waitMsOf,
  wantedCheckpoints,
  wantedHandlers,
  wantedVersion,
} from './lease-wish.ts';
import { leaseOwners } from './library/wait-owners.ts';
import { wireRun } from './library/wire-run.ts';
import { waitRequestOf } from './wait-request.ts';
import { wireArtifact, wireCheckpoint, wireLease } from './wire.ts';
import { writeNameOf } from './write-name.ts';

/** Leases one run for a worker: the requested one, or the one that has been ready longest. */
export function leaseExternalExecutionRun(
  dependencies: ExecutionDependencies,
): Handler<'leaseExternalExecutionRun'> {
  const { runtime, access } = dependencies;
  return async ({ body }, { caller, signal, draining, aside }) => {
    const workerId = identifier(body.workerId, '/workerId');
    const handlerIds = wantedHandlers(body.handlerIds);
    const handlerVersion = wantedVersion(body.handlerVersion);
    const checkpointKeys = wantedCheckpoints(body.checkpointKeys);
    const ttlMs = ttlOf(body.ttlSeconds);
    const wish = leaseWish(dependencies, caller, { workerId, handlerIds, ttlMs, handlerVersion });
    const unknown = namedHandlers(dependencies, caller, wish);
    const wanted = body.runId?.trim() || null;
    const waitMs = waitMsOf(body.waitSeconds, unknown);
    const tenants = () => access?.servedTenants(verifiedCaller(caller), workerId, wish.handlerIds) ?? null;
    const waits =
      waitMs === 0 ? null : { waitMs, ...leaseOwners({ caller, workerId, tenants: tenants(), aside }) };
    // A stopping server answers its waiting callers at once.
    const ended = waits === null || draining === undefined ? signal : AbortSignal.any([signal, draining]);
    const run =
      wanted === null
        ? await leaseNext(runtime, { ...wish, wait: waits, isNotified: waits !== null, signal: ended })
        : await leaseNamed(runtime, wanted, wish, waits && { ...waits, signal: ended });
    const headers = unknownHeaders(unknown);
    if (run === null) return { status: 204, body: null, ...headers };
    const lease = await wireLease(runtime, run, { token: wish.token, workerId, checkpointKeys });
    return { status: 200, body: lease, ...headers };
  };
}

export function heartbeatExternalExecutionLease(
  dependencies: ExecutionDependencies,
): Handler<'heartbeatExternalExecutionLease'> {
  const { runtime } = dependencies;
  return async ({ body }, { caller, now }) => {
    const held = heldBy(dependencies, caller, body);
    const run = await heartbeat(runtime, held, ttlOf(body.ttlSeconds), now);
    const { leaseToken: token } = body;
    return { status: 200, body: await wireLease(runtime, run, { token, workerId: held.workerId }) };
  };
}

export function reportExternalExecutionLease(
  dependencies: ExecutionDependencies,
): Handler<'reportExternalExecutionLease'> {
  const { runtime } = dependencies;
  return async ({ body }, { caller, now }) => {
    const { resultBytesMax } = runtime.options;
    const update = checkReport(body.update, { resultBytesMax, pointer: '/update' });
    const held = heldBy(dependencies, caller, body);
    return { status: 200, body: await wireRun(runtime, await report(runtime, held, update, now)) };
  };
}

export function recordExternalExecutionLeaseEvent(
  dependencies: ExecutionDependencies,
): Handler<'recordExternalExecutionLeaseEvent'> {
  return async ({ body }, { caller, now }) => {
    const event = checkTrace(body);
    const held = heldBy(dependencies, caller, body);
    const named = writeNameOf(body.writeId, () => ({ ...event }));
    await recordEvent(dependencies.runtime, held, event, now, named);
    return { status: 204, body: null };
  };
}

export function putExternalExecutionLeaseArtifact(
  dependencies: ExecutionDependencies,
): Handler<'putExternalExecutionLeaseArtifact'> {
  const put: Handler<'putExternalExecutionLeaseArtifact'> = async ({ body }, { caller, now }) => {
    const turns = dependencies.runtime.world.turns.of(placeOwnerOf(caller).name);
    const write = await checkArtifact(body.artifact, turns, '/artifact');
    const held = heldBy(dependencies, caller, body);
    // The content may be large, so the hash covers its length only, which is enough against mistakes of one worker.
    const { name, kind, mediaType, uri, text } = write;
    const named = writeNameOf(body.writeId, () => ({
      name,
      kind,
      mediaType,
      uri,
      characters: text?.length ?? null,
    }));
    const artifact = await putArtifact(dependencies.runtime, held, write, now, named);
    return { status: 200, body: wireArtifact(artifact) };
  };
  return Object.assign(put, { judgeBody: judgeByLease(dependencies) });
}

export function putExternalExecutionLeaseCheckpoint(
  dependencies: ExecutionDependencies,
): Handler<'putExternalExecutionLeaseCheckpoint'> {
  return async ({ body }, { caller, now }) => {
    const write = checkCheckpoint(body.checkpoint, '/checkpoint');
    const event = body.event ?? null;
    const added = event === null ? null : checkCheckpointEvent(event, '/event');
    const held = heldBy(dependencies, caller, body);
    const { key, content, metadata } = write;
    const named = writeNameOf(body.writeId, () => ({
      key,
      content,
      metadata,
      ...(added === null ? {} : { event: { ...added } }),
    }));
    const whole = added === null ? write : { ...write, added };
    const written = await checkpoint(dependencies.runtime, held, whole, now, named);
    return { status: 200, body: wireCheckpoint(written) };
  };
}

export function getExternalExecutionLeaseCheckpoint(
  dependencies: ExecutionDependencies,
): Handler<'getExternalExecutionLeaseCheckpoint'> {
  return async ({ body }, { caller, now }) => {
    const key = checkName(body.key, '/key');
    const held = heldBy(dependencies, caller, body);
    const found = await readCheckpoint(dependencies.runtime, held, key, now);
    // Every first attempt reads its checkpoint, so absence is no error in the log.
    if (found === null) throw new ExpectedAbsence('The run has no such checkpoint');
    return { status: 200, body: wireCheckpoint(found) };
  };
}

export function waitExternalExecutionLease(
  dependencies: ExecutionDependencies,
): Handler<'waitExternalExecutionLease'> {
  const { runtime } = dependencies;
  return async ({ body }, context) => {
    if (body.kind === 'run') return waitForChildOf(dependencies, body, context);
    if (body.runId !== undefined && body.runId !== null)
      throw invalidMember('/runId', 'must be left out, except for the kind run');
    const { caller, now } = context;
    const request = waitRequestOf(body, now, payloadLimit(runtime.options.payloadBytesMax));
    const after = leaseAfter(dependencies, body.leaseNext);
    const held = heldBy(dependencies, caller, body);
    const { run, outcome } = await wait(runtime, held, request, now);
    const waited = await wireRun(runtime, run);
    if (outcome !== null) {
      const ended = await waitResult(runtime, run.id, outcome);
      return { status: 200, body: { run: waited, suspended: false, outcome: ended } };
    }
    const next = await after(held.workerId, context);
    return { status: 200, body: { run: waited, suspended: true, outcome: null, ...next } };
  };
}

export function completeExternalExecutionLease(
  dependencies: ExecutionDependencies,
): Handler<'completeExternalExecutionLease'> {
  const { runtime } = dependencies;
  return async ({ body }, context) => {
    const { caller, now } = context;
    const completion = completionOf(body.result, runtime.options.resultBytesMax);
    const after = leaseAfter(dependencies, body.leaseNext);
    const held = heldBy(dependencies, caller, body);
    const run = await complete(runtime, held, completion, now);
    const completed = await wireRun(runtime, run);
    return { status: 200, body: { ...completed, ...(await after(held.workerId, context)) } };
  };
}

export function releaseExternalExecutionLease(
  dependencies: ExecutionDependencies,
): Handler<'releaseExternalExecutionLease'> {
  const { runtime } = dependencies;
  return async ({ body }, { caller, now }) => {
    const run = await release(runtime, heldBy(dependencies, caller, body), now);
    return { status: 200, body: await wireRun(runtime, run) };
  };
}

function completionOf(given: ExecutionRunResult, resultBytesMax: number) {
  const status = given.status ?? 'succeeded';
  const {
    failureClass = null,
    error = null,
    ...texts
  } = checkReport(
    {
      failureClass: given.failureClass ?? null,
      error: given.error ?? null,
      statusDetails: given.statusDetails ?? null,
    },
    { pointer: '/result' },
  );
  const result = checkResult(given.result, resultBytesMax, '/result');
  const { statusDetails } = texts;
  return {
    status,
    failureClass,
    error,
    ...(result === undefined ? {} : { result }),
    ...(statusDetails === undefined ? {} : { statusDetails }),
    ...(given.retryable === false ? { retryable: false } : {}),
  };
}
