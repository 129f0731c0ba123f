import type { ExecutionRunResult } from '../../../contracts/generated/models.ts';
import type { Handler } from '../../http/handler.ts';
import { placeOwnerOf } from '../../identity/caller.ts';
import { canonicalJson, type JsonObject, sha256 } from '../../kernel/canonical-json.ts';
import { ExpectedAbsence, invalidMember } from '../../kernel/errors.ts';
import { identifier } from '../../kernel/identifiers.ts';
import { checkJson } from '../../kernel/json-bytes.ts';
import { checkpoint, readCheckpoint } from '../../runs/checkpoint.ts';
import {
  checkArtifact,
  checkCheckpoint,
  checkMoment,
  checkReport,
  checkResult,
  checkTrace,
} from '../../runs/checks.ts';
import { leaseNamed } from '../../runs/lease-named.ts';
import { leaseNext } from '../../runs/lease-next.ts';
import { putArtifact } from '../../runs/put-artifact.ts';
import type { WriteName } from '../../runs/rules/answered.ts';
import { payloadLimit } from '../../runs/start-request.ts';
import { checkName } from '../../runs/text-checks.ts';
import { waitResult } from '../../runs/wait-result.ts';
import { complete, heartbeat, recordEvent, release, report, wait } from '../../runs/work.ts';
import type { ExecutionDependencies } from './dependencies.ts';
import { heldBy, judgeByLease } from './lease-proof.ts';
import {
  leaseAfter,
  leaseWish,
  namedHandlers,
  ttlOf,
  unknownHeaders,
  waitMsOf,
  wantedHandlers,
} from './lease-wish.ts';
import { leaseOwners } from './library/wait-owners.ts';
import { wireRun } from './library/wire-run.ts';
import { verified } from './run-operations.ts';
import { wireArtifact, wireCheckpoint, wireLease } from './wire.ts';

/** Leases one run for a worker: the requested one, or the one that has been ready longest. */
export function leaseExternalExecutionRun(
  dependencies: ExecutionDependencies,
): Handler<'leaseExternalExecutionRun'> {
  const { runtime, access } = dependencies;
  return async ({ body }, { caller, signal, draining, aside }) => {
    const workerId = identifier(body.workerId, '/workerId');
    const handlerIds = wantedHandlers(body.handlerIds);
    const wish = leaseWish(dependencies, caller, { workerId, handlerIds, ttlMs: ttlOf(body.ttlSeconds) });
    const unknown = namedHandlers(dependencies, caller, wish);
    const wanted = body.runId?.trim() || null;
    const waitMs = waitMsOf(body.waitSeconds, unknown);
    const tenants = () => access?.servedTenants(verified(caller), workerId, wish.handlerIds) ?? null;
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
    return { status: 200, body: await wireLease(runtime, run, wish.token, workerId), ...headers };
  };
}

export function heartbeatExternalExecutionLease(
  dependencies: ExecutionDependencies,
): Handler<'heartbeatExternalExecutionLease'> {
  const { runtime } = dependencies;
  return async ({ body }, { caller, now }) => {
    const held = heldBy(dependencies, caller, body);
    const run = await heartbeat(runtime, held, ttlOf(body.ttlSeconds), now);
    return { status: 200, body: await wireLease(runtime, run, body.leaseToken, held.workerId) };
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
    const named = nameOf(body.writeId, () => ({ ...event }));
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
    const named = nameOf(body.writeId, () => ({
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
    const held = heldBy(dependencies, caller, body);
    const { key, content, metadata } = write;
    const named = nameOf(body.writeId, () => ({ key, content, metadata }));
    const written = await checkpoint(dependencies.runtime, held, write, now, named);
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
    const { caller, now } = context;
    const payload = body.payload ?? null;
    const bytes = checkJson(payload, payloadLimit(runtime.options.payloadBytesMax), '/payload');
    const { kind } = body;
    const name = checkName(body.name, '/name');
    const dueAt = dueAtOf(body, now);
    const write = nameOf(body.waitId, () => ({ kind, name, dueAt, payload }), '/waitId');
    const request = { kind, name, dueAt, payload, bytes, write };
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

/** The worker's name for a repeatable write, with the hash of the write; `null` without a name. */
function nameOf(
  id: string | null | undefined,
  write: () => JsonObject,
  pointer = '/writeId',
): WriteName | null {
  if (id === undefined || id === null) return null;
  return { id: identifier(id, pointer), requestHash: sha256(canonicalJson(write())) };
}

type WaitBody = Parameters<Handler<'waitExternalExecutionLease'>>[0]['body'];

/** A timer needs a time; an event may have a deadline only. */
function dueAtOf({ kind, fireAtUtc, timeoutAtUtc }: WaitBody, now: number): number | null {
  if (kind === 'timer') {
    if (fireAtUtc === undefined || fireAtUtc === null)
      throw invalidMember('/fireAtUtc', 'is needed for a timer');
    return checkMoment(fireAtUtc, now, '/fireAtUtc');
  }
  if (fireAtUtc !== undefined && fireAtUtc !== null) {
    throw invalidMember('/fireAtUtc', 'must be left out when waiting for an event');
  }
  return timeoutAtUtc === undefined || timeoutAtUtc === null
    ? null
    : checkMoment(timeoutAtUtc, now, '/timeoutAtUtc');
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
  };
}
