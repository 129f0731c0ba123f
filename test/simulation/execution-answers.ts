import type {
  ExecutionExternalEvent,
  ExecutionExternalWorkerLease,
  ExecutionExternalWorkerWaitResponse,
  ExecutionMaintenancePruneResult,
  ExecutionRun,
  ExecutionRunRequest,
  ExecutionTraceEvent,
} from '../../contracts/generated/models.ts';
import { canonicalJson, sha256 } from '../../functions/kernel/canonical-json.ts';
import type { Run } from '../../functions/runs/run.ts';
import type { ExecutionCall, ExecutionOutcome } from './execution-calls.ts';
import type { ExecutionOracle } from './execution-oracle.ts';
import { must } from './violation.ts';

const LEASE_KEY = 'external-worker-run-';

interface Proof {
  readonly leaseKey: string;
  readonly leaseToken: string;
  readonly workerId: string;
}

/** Every answer must have been right at a moment between question and answer, and a refusal too. */
export function checkAnswer(oracle: ExecutionOracle, call: ExecutionCall, outcome: ExecutionOutcome): void {
  const about = `#${call.number} ${call.operation}`;
  if (isMaintenance(call)) return checkMaintenance(oracle, call, outcome, about);
  if (outcome.kind === 'failed') {
    // A failed call may still have written the steps before its own, such as the end of a lease that ran out.
    const done = call.wrote.filter(({ runId, moment }) => tookEffect(oracle, call, runId, moment));
    must(done.length === 0, 'answer', `${about} was answered to have done nothing, and did`);
  } else if (outcome.kind === 'refused') {
    checkRefusal(oracle, call, outcome.error.code, about);
  } else if (outcome.kind === 'answer') {
    checkBody(oracle, call, outcome.body, about);
  }
}

function isMaintenance({ operation }: ExecutionCall): boolean {
  return /Maintenance|reconcile/.test(operation);
}

/** Maintenance works run by run, so a failure does not tell how far it came. */
function checkMaintenance(
  oracle: ExecutionOracle,
  call: ExecutionCall,
  outcome: ExecutionOutcome,
  about: string,
): void {
  must(outcome.kind !== 'refused', 'answer', `${about} was refused`);
  if (outcome.kind !== 'answer' || call.operation !== 'pruneExecutionRuntimeMaintenance') return;
  const { dryRun, runIds } = outcome.body as ExecutionMaintenancePruneResult;
  for (const id of runIds) {
    if (dryRun) {
      // Another prune may remove the run, and answer, while this one counts.
      must(oracle.wasThere(call, id), 'answer', `${about} counts ${id}, which was removed before`);
      continue;
    }
    const gone = oracle.removed.get(id) ?? 0;
    must(gone > call.since, 'answer', `${about} says that it removed ${id}, and did not`);
    must(!oracle.pruned.has(id), 'answer', `${about} removed ${id}, which another one had removed`);
    oracle.pruned.add(id);
  }
}

function tookEffect(oracle: ExecutionOracle, call: ExecutionCall, runId: string, moment: number): boolean {
  if (call.operation !== 'leaseExternalExecutionRun') return true;
  const { workerId } = call.body as unknown as Proof;
  const [before, after] = [oracle.at(runId, moment - 1), oracle.at(runId, moment)];
  return after?.lease?.workerId === workerId && after.attempt !== before?.attempt;
}

function checkRefusal(oracle: ExecutionOracle, call: ExecutionCall, code: string, about: string): void {
  // A run without an executor is kept as rejected, and the starter gets this code.
  const kept = code === 'handler_missing' ? 1 : 0;
  must(call.wrote.length <= kept, 'answer', `${about} was refused with ${code}, and did something`);
  switch (call.operation) {
    case 'startExecutionRun':
      if (code === 'queue_full') checkFull(oracle, call, about);
      else if (code === 'store_contention') must(oracle.removedDuring(call), 'answer', `${about}: ${code}`);
      else must(code === 'idempotency_conflict' || code === 'handler_missing', 'answer', `${about}: ${code}`);
      return;
    case 'raiseExecutionEvent':
    case 'cancelExecutionRun':
    case 'getExecutionRun':
    case 'getExecutionRunHistory': {
      const { runId } = call.params as { readonly runId: string };
      const gone = code === 'not_found' && oracle.removed.has(runId);
      must(gone, 'answer', `${about} was refused with ${code}`);
      return;
    }
    default:
      checkLost(oracle, call, code, about);
  }
}

/** Checks that at some moment none of the counters had room. */
function checkFull({ actives, shape }: ExecutionOracle, call: ExecutionCall, about: string): void {
  const { activeRunsMax, counterShards } = shape;
  must(activeRunsMax !== null, 'admission', `${about} was refused for a ceiling that there is not`);
  const first = actives.findLastIndex(({ moment }) => moment <= call.since);
  const window = actives.slice(Math.max(0, first));
  const highest = new Map<string, number>();
  for (const { counts } of window) {
    for (const [key, count] of counts) highest.set(key, Math.max(highest.get(key) ?? 0, count));
  }
  // Each shard admits runs by itself, so the highest counts of all shards must add up to the ceiling.
  const most = [...highest.values()].reduce((sum, count) => sum + count, 0);
  must(
    highest.size <= counterShards && most >= activeRunsMax,
    'admission',
    `${about} was refused, with ${most}`,
  );
}

type Hold = 'active' | 'lease_not_active' | 'lease_stale';

/** The state of the lease that the proof names, for this state of the run. */
function holdOf(run: Run, { leaseToken, workerId }: Proof, now: number): Hold {
  const tokenHash = sha256(leaseToken);
  const is = (lease: { tokenHash: string; workerId: string } | null) =>
    lease !== null && lease.tokenHash === tokenHash && lease.workerId === workerId;
  if (is(run.lease)) return now < (run.lease?.expiresAt ?? 0) ? 'active' : 'lease_not_active';
  return is(run.endedLease) ? 'lease_not_active' : 'lease_stale';
}

function checkLost(oracle: ExecutionOracle, call: ExecutionCall, code: string, about: string): void {
  const proof = call.body as unknown as Proof;
  const runs = oracle.during(call, proof.leaseKey.slice(LEASE_KEY.length));
  if (code === 'not_found') {
    must(call.operation === 'getExternalExecutionLeaseCheckpoint', 'answer', `${about}: ${code}`);
    return;
  }
  // The decision reads its clock later than the request: the lease may have run out meanwhile.
  const holds = runs.flatMap((run) => [
    holdOf(run, proof, call.now),
    holdOf(run, proof, Math.max(call.now, call.clock?.latest ?? 0)),
  ]);
  if (oracle.removed.has(proof.leaseKey.slice(LEASE_KEY.length))) holds.push('lease_stale');
  must(holds.includes(code as Hold), 'answer', `${about} was refused with ${code}, and was ${holds.join()}`);
}

function checkBody(oracle: ExecutionOracle, call: ExecutionCall, body: unknown, about: string): void {
  switch (call.operation) {
    case 'startExecutionRun':
      return checkStarted(oracle, call, body as ExecutionRun, about);
    case 'getExecutionRun':
    case 'cancelExecutionRun':
      return checkShown(oracle, call, body as ExecutionRun, about);
    case 'raiseExecutionEvent': {
      const { id } = body as ExecutionExternalEvent;
      return must(oracle.events.has(id), 'I9 event once', `${about} raised ${id}, which is nowhere`);
    }
    case 'getExecutionRunHistory':
      return checkHistory(body as readonly ExecutionTraceEvent[], about);
    case 'listExecutionRuns':
      return;
    case 'leaseExternalExecutionRun':
      if (body !== null) checkLeased(oracle, call, body as ExecutionExternalWorkerLease, about);
      return;
    default:
      checkHolders(oracle, call, body, about);
  }
}

function checkStarted(
  oracle: ExecutionOracle,
  call: ExecutionCall,
  shown: ExecutionRun,
  about: string,
): void {
  checkShown(oracle, call, shown, about);
  const { handlerId, payload } = call.body as ExecutionRunRequest;
  const versions = oracle.during(call, shown.id);
  const isStored = versions.some(({ payloadHash }) => payloadHash === shown.payloadHash);
  must(isStored, 'I1 acknowledged', `${about} shows a payload that was never stored`);
  if (shown.replaced === true) must(sameJson(shown.payload, payload), 'answer', `${about} lost its payload`);
  must(shown.handlerId === handlerId, 'admission', `${about} was answered with the run of another handler`);
  const own = call.wrote.some(({ runId }) => runId === shown.id);
  must(shown.admission.replayed !== own, 'admission', `${about} does not know whether it was the first`);
}

function sameJson(one: unknown, other: unknown): boolean {
  return canonicalJson(one) === canonicalJson(other);
}

/** The run as this call wrote it, or at some moment of the call where it wrote nothing. */
function checkShown(oracle: ExecutionOracle, call: ExecutionCall, shown: ExecutionRun, about: string): void {
  const own = call.wrote.filter(({ runId }) => runId === shown.id);
  const runs =
    own.length > 0
      ? own.flatMap(({ moment }) => oracle.at(shown.id, moment) ?? [])
      : oracle.during(call, shown.id);
  const is = runs.some((run) => facts(run) === factsShown(shown));
  must(is, 'answer', `${about} shows ${factsShown(shown)}, and it was ${runs.map(facts).join(' or ')}`);
}

function facts(run: Run): string {
  const { status, attempt, cancellationRequested, failureClass, currentStep, updatedAt, result } = run;
  const json = 'json' in result ? result.json : null;
  return JSON.stringify([status, attempt, cancellationRequested, failureClass, currentStep, updatedAt, json]);
}

function factsShown(run: ExecutionRun): string {
  const { status, attempt, cancellationRequested, failureClass, currentStep, updatedAtUtc, result } = run;
  const at = Date.parse(updatedAtUtc);
  return JSON.stringify([status, attempt, cancellationRequested, failureClass, currentStep, at, result]);
}

function checkLeased(
  oracle: ExecutionOracle,
  call: ExecutionCall,
  lease: ExecutionExternalWorkerLease,
  about: string,
): void {
  const { workerId, handlerIds, runId } = call.body as unknown as Proof & {
    readonly handlerIds: readonly string[];
    readonly runId?: string;
  };
  checkShown(oracle, call, lease.run, about);
  const granted = call.wrote.some(
    (wrote) => oracle.at(wrote.runId, wrote.moment)?.lease?.tokenHash === sha256(lease.leaseToken),
  );
  must(granted && lease.workerId === workerId, 'I7 lease', `${about} gave a lease that no write granted`);
  must(handlerIds.includes(lease.run.handlerId), 'answer', `${about} gave a run of another handler`);
  must(runId === undefined || runId === lease.run.id, 'answer', `${about} gave another run`);
  must(lease.run.status === 'running', 'answer', `${about} gave a run that is ${lease.run.status}`);
}

/** An accepted call of a worker must come from the holder of the run, or repeat a completion. */
function checkHolders(oracle: ExecutionOracle, call: ExecutionCall, body: unknown, about: string): void {
  const proof = call.body as unknown as Proof;
  const runId = proof.leaseKey.slice(LEASE_KEY.length);
  const runs = oracle.during(call, runId);
  const held = runs.some((run) => holdOf(run, proof, call.now) === 'active');
  const ended = (...ways: readonly string[]) =>
    runs.some(
      (run) =>
        holdOf(run, proof, call.now) === 'lease_not_active' && ways.includes(run.endedLease?.how ?? ''),
    );
  const isWait = call.operation === 'waitExternalExecutionLease';
  const knownWait = isWait && call.wrote.length === 0 && oracle.waits.knows(call);
  const repeated =
    (call.operation === 'completeExternalExecutionLease' && ended('completed')) ||
    (call.operation === 'releaseExternalExecutionLease' && ended('released')) ||
    (knownWait && (held || ended('suspended', 'cancelled')));
  if (knownWait) oracle.reach('wait repeated');
  must(held || repeated, 'I7 lease', `${about} was let pass without a lease`);
  const silent = repeated || call.operation === 'getExternalExecutionLeaseCheckpoint';
  must(silent || call.wrote.length > 0, 'I1 acknowledged', `${about} was answered, and nothing was written`);
  if (call.operation === 'completeExternalExecutionLease') checkResult(oracle, call, about);
  if (call.operation === 'waitExternalExecutionLease')
    checkTaken(oracle, call, body as ExecutionExternalWorkerWaitResponse, about);
  if (isWait) oracle.waits.answered(call, (body as ExecutionExternalWorkerWaitResponse).outcome, about);
  const shown = (body as { readonly run?: ExecutionRun } | null)?.run ?? (body as ExecutionRun | null);
  if (shown?.admission !== undefined) checkShown(oracle, call, shown, about);
}

/** An accepted completion is kept as it was sent. */
function checkResult(oracle: ExecutionOracle, call: ExecutionCall, about: string): void {
  const wrote = call.wrote.at(-1);
  const run = wrote === undefined ? undefined : oracle.at(wrote.runId, wrote.moment);
  if (run?.status !== 'succeeded') return;
  const { result } = (call.body as unknown as { readonly result: { readonly result?: unknown } }).result;
  const kept = 'json' in run.result ? run.result.json : undefined;
  const same = JSON.stringify(kept) === JSON.stringify(result ?? null);
  must(same, 'I1 acknowledged', `${about} was kept with another result`);
}

/** The outcome of a wait is no longer the run's: it left the run by the write of this very call. */
function checkTaken(
  oracle: ExecutionOracle,
  call: ExecutionCall,
  { outcome }: ExecutionExternalWorkerWaitResponse,
  about: string,
): void {
  const wrote = call.wrote.at(-1);
  if (outcome === null || wrote === undefined) return;
  const { kind, name } = call.body as unknown as { readonly kind: string; readonly name: string };
  const [before, after] = [oracle.at(wrote.runId, wrote.moment - 1), oracle.at(wrote.runId, wrote.moment)];
  const waiting = (run: Run | undefined) =>
    run?.outcomes.filter((each) => each.kind === kind && each.name === name).length ?? 0;
  const was = waiting(before);
  must(
    was === 0 || waiting(after) === was - 1,
    'I9 event once',
    `${about} took an outcome, which is still there`,
  );
  const raised = outcome.event;
  if (raised === null) return;
  must(
    oracle.events.isDelivered(raised.id),
    'I9 event once',
    `${about} took ${raised.id}, which is still there`,
  );
}

function checkHistory(events: readonly ExecutionTraceEvent[], about: string): void {
  for (const [n, { sequenceId }] of events.entries()) {
    must(n === 0 || (events[n - 1]?.sequenceId ?? '') < sequenceId, 'I12 trace', `${about} is out of order`);
  }
}
