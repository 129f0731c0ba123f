import type { ExecutionMaintenancePruneRequest } from '../../contracts/generated/models.ts';
import { canonicalJson } from '../../functions/kernel/canonical-json.ts';
import { activeCounterKey, admissionOfRun, RUN_INDEX, readRun } from '../../functions/runs/records.ts';
import type { Run, TraceEntry } from '../../functions/runs/run.ts';
import type { RecordData } from '../../functions/store/port.ts';
import type { ExecutionCall, ExecutionOutcome } from './execution-calls.ts';
import type { Shape } from './execution-instance.ts';
import { StartKeyLedger } from './execution-start-key-ledger.ts';
import {
  checkLookedAfter,
  checkTransition,
  EventLedger,
  isOver,
  type Writer,
} from './execution-transitions.ts';
import { WaitLedger } from './execution-wait-ledger.ts';
import { type Change, keyName } from './memory-database.ts';
import type { Scheduler } from './scheduler.ts';
import { must } from './violation.ts';

/** A run as it stood from a moment on. */
export interface Version {
  readonly moment: number;
  readonly run: Run;
}

/** Throws unless the answer was right. */
export type AnswerCheck = (oracle: ExecutionOracle, call: ExecutionCall, outcome: ExecutionOutcome) => void;

/** The counters of all active runs together. */
const WHOLE = new Set(Array.from({ length: 16 }, (_, shard) => activeCounterKey(shard).id));

/** Watches every write at the moment at which it takes effect, and every answer before its client sees it. */
export class ExecutionOracle {
  readonly reached = new Map<string, number>();
  readonly events = new EventLedger();
  readonly waits = new WaitLedger();
  /** Versions of each run, oldest first. */
  readonly versions = new Map<string, Version[]>();
  /** How many were active, from a moment on, in each of the counters. */
  readonly actives: { readonly moment: number; readonly counts: ReadonlyMap<string, number> }[] = [];
  moment = 0;
  /** The latest that any clock has said. */
  latest = 0;
  readonly shape: Shape;
  /** Runs that a prune has removed, and when. */
  readonly removed = new Map<string, number>();
  /** The removed runs that an answer has listed. */
  readonly pruned = new Set<string>();
  readonly #scheduler: Scheduler;
  readonly #keys = new Map<string, string>();
  readonly #startKeys = new StartKeyLedger();
  /** How many runs of one product and tenant are active, by their counters. */
  readonly #shares = new Map<string, number>();

  constructor(scheduler: Scheduler, shape: Shape) {
    this.#scheduler = scheduler;
    this.shape = shape;
    this.actives.push({ moment: 0, counts: new Map() });
  }

  reach(what: string): void {
    this.reached.set(what, (this.reached.get(what) ?? 0) + 1);
  }

  current(runId: string): Run | undefined {
    return this.versions.get(runId)?.at(-1)?.run;
  }

  get runs(): Run[] {
    const there = [...this.versions.keys()].filter((id) => !this.removed.has(id));
    return there.map((id) => this.current(id) as Run);
  }

  /** Whether the run was there at some moment between the sending of the call and now. */
  wasThere(call: ExecutionCall, runId: string): boolean {
    return (this.removed.get(runId) ?? Number.POSITIVE_INFINITY) > call.since;
  }

  /** Whether any run was removed between the sending of the call and now. */
  removedDuring({ since }: ExecutionCall): boolean {
    return [...this.removed.values()].some((moment) => moment > since);
  }

  applied(changes: readonly Change[], call: ExecutionCall | undefined, writer: Writer): void {
    this.moment += 1;
    this.latest = Math.max(this.latest, writer.clock.latest);
    try {
      for (const change of changes) this.#record(change, changes, call, writer);
      this.#checkCounts(changes);
      this.#checkKeys(changes);
      this.#startKeys.applied(changes, this.runs, this.shape.keyLimit ?? 1);
    } catch (error) {
      this.#scheduler.fail(error as Error);
    }
  }

  #record(
    { key, before: old, after: put }: Change,
    changes: readonly Change[],
    call: ExecutionCall | undefined,
    writer: Writer,
  ): void {
    if (key.collection !== 'runs') return;
    if (put === undefined) return this.#removed(old, changes, call);
    const [before, after] = [old === undefined ? undefined : readRun(old), readRun(put)];
    const change = { before, after, call, writer };
    this.#scheduler.note(
      `${after.id.slice(-6)} ${before?.status ?? 'new'} > ${after.status} ${after.attempt}`,
    );
    checkTransition(change);
    this.events.check(change);
    this.waits.wrote(call, before, after);
    checkTrace(before, after, changes);
    checkLookedAfter(after, put.due, put.listing?.indexes[RUN_INDEX.lane]);
    const versions = this.versions.get(after.id) ?? [];
    versions.push({ moment: this.moment, run: after });
    this.versions.set(after.id, versions);
    call?.wrote.push({ runId: after.id, moment: this.moment });
    this.#checkOneAtATime(after);
    this.#noteReached(before, after);
  }

  /** Only a prune removes a run, only one that is over, and its key with it. */
  #removed(old: RecordData | undefined, changes: readonly Change[], call: ExecutionCall | undefined): void {
    must(old !== undefined, 'I8 run', 'a run that was not there is gone');
    const run = readRun(old);
    must(isOver(run), 'I8 run', `${run.id} is gone, and was ${run.status}`);
    const { dryRun } = (call?.body ?? {}) as ExecutionMaintenancePruneRequest;
    const asked = call?.operation === 'pruneExecutionRuntimeMaintenance' && dryRun === false;
    must(asked, 'I8 run', `${run.id} is gone, and no prune asked for it`);
    const key = isRefused(run) ? null : admissionOfRun(run);
    const freed = changes.some(({ key: { id }, after }) => id === key?.id && after === undefined);
    must(key === null || freed, 'admission', `${run.id} is gone, and its key is not`);
    this.removed.set(run.id, this.moment);
    this.#scheduler.note(`${run.id.slice(-6)} is pruned`);
    this.reach('pruned');
  }

  /** At most one of the runs that share a key is executed at a time. */
  #checkOneAtATime({ concurrencyKey, id, status, startKey }: Run): void {
    if (concurrencyKey === null || status !== 'running' || startKey !== undefined) return;
    const others = this.runs.filter(
      (run) => run.id !== id && run.status === 'running' && run.concurrencyKey === concurrencyKey,
    );
    must(others.length === 0, 'one at a time', `${id} is executed beside ${others.map((r) => r.id).join()}`);
  }

  /** The counters say how many runs are active, at every moment, and none goes beyond its ceiling. */
  #checkCounts(changes: readonly Change[]): void {
    const changed = changes.filter(({ key }) => key.collection === 'counters');
    const written = changed.filter(({ key }) => WHOLE.has(key.id));
    for (const { key, after } of changed.filter((change) => !WHOLE.has(change.key.id)))
      this.#shares.set(key.id, Number(after?.head.active ?? 0));
    const counts = new Map(this.actives.at(-1)?.counts);
    for (const { key, after } of written) counts.set(keyName(key), Number(after?.head.active ?? 0));
    if (written.length > 0) this.actives.push({ moment: this.moment, counts });
    const { activeRunsMax } = this.shape;
    if (activeRunsMax === null) return;
    const sum = [...counts.values()].reduce((total, count) => total + count, 0);
    const active = this.runs.filter((run) => !isOver(run)).length;
    must(sum === active, 'admission', `${active} runs are active, and the counters say ${sum}`);
    must(active <= activeRunsMax, 'admission', `${active} runs are active, of ${activeRunsMax}`);
    const scoped = this.runs.filter((run) => !isOver(run) && run.scope !== null).length;
    const shared = [...this.#shares.values()].reduce((total, count) => total + count, 0);
    must(scoped === shared, 'admission', `${scoped} runs have a scope, and their shares say ${shared}`);
  }

  #checkKeys(changes: readonly Change[]): void {
    for (const { key, after } of changes) {
      if (key.collection !== 'admissions') continue;
      if (after === undefined) {
        const owner = this.#keys.get(key.id) ?? '';
        must(this.removed.has(owner), 'admission', `the key of ${owner} is free, and the run is there`);
        this.#keys.delete(key.id);
        continue;
      }
      const runId = String(after.head.runId);
      const owner = this.#keys.get(key.id) ?? runId;
      must(owner === runId, 'admission', `a key of ${owner} was given to ${runId}`);
      const keyed = this.current(runId);
      must(keyed !== undefined, 'admission', `a key was taken for ${runId}, which is not there`);
      must(!isRefused(keyed), 'admission', `a key was taken for ${runId}, which was refused`);
      this.#keys.set(key.id, runId);
    }
    const keyed = new Map<string, string>();
    for (const run of this.runs) {
      const { id, keyHash, scope } = run;
      if (keyHash === null || isRefused(run)) continue;
      const name = `${canonicalJson(scope)} ${keyHash}`;
      must(!keyed.has(name), 'admission', `${keyed.get(name)} and ${id} have one key`);
      keyed.set(name, id);
    }
  }

  #noteReached(before: Run | undefined, after: Run): void {
    if (before?.status !== after.status) this.reach(after.status);
    if (before === undefined) return;
    if (after.leaseExpirations > before.leaseExpirations) this.reach('lease expired');
    if (after.leaseExpirations > before.leaseExpirations && after.status === 'running')
      this.reach('taken over');
    if (after.failureClass === 'lease_expired' && isOver(after)) this.reach('failed by expiry');
    if (after.status === 'waiting' && after.wait === null && after.failures > before.failures)
      this.reach('retry');
    if (before.wait !== null && after.wait === null) this.reach(`wait ${after.outcomes.at(-1)?.outcome}`);
    if (before.outcomes.length > after.outcomes.length && !isOver(after)) this.reach('outcome taken');
    if (before.inbox.length > after.inbox.length) this.reach('event from the inbox');
    if (after.trace.length < before.trace.length) this.reach('trace moved');
    if (after.waitsForKey === true && before.waitsForKey !== true) this.reach('waits for its key');
    if (before.waitsForKey === true && after.waitsForKey !== true) this.reach('has a place');
    if (before.payloadHash !== after.payloadHash) this.reach('replaced');
    if (before.cancellationRequested && isOver(after)) this.reach(`to be cancelled, ${after.status}`);
    if (isOver(before) && after.inbox.length > before.inbox.length) this.reach('event after the end');
  }

  answered(call: ExecutionCall, outcome: ExecutionOutcome, check: AnswerCheck): void {
    this.reach(outcome.kind === 'refused' ? outcome.error.code : outcome.kind);
    if (outcome.kind === 'answer') this.reach(call.operation);
    try {
      check(this, call, outcome);
    } catch (error) {
      this.#scheduler.fail(error as Error);
    }
  }

  /** The runs that stood at some moment between the sending of the call and now. */
  during(call: ExecutionCall, runId: string): Run[] {
    const versions = this.versions.get(runId) ?? [];
    const first = versions.findLastIndex(({ moment }) => moment <= call.since);
    return versions.slice(Math.max(0, first)).map(({ run }) => run);
  }

  at(runId: string, moment: number): Run | undefined {
    return this.versions.get(runId)?.findLast((version) => version.moment <= moment)?.run;
  }

  /** The store holds at the end exactly the runs that were written. */
  checkStored(records: readonly RecordData[]): void {
    let runs = 0;
    for (const record of records) {
      if (record.key.collection !== 'runs') continue;
      const run = readRun(record);
      runs += 1;
      const same = JSON.stringify(this.current(run.id)) === JSON.stringify(run);
      must(same, 'I1 acknowledged', `${run.id} is not as it was written`);
      checkLookedAfter(run, record.due ?? null, record.listing?.indexes[RUN_INDEX.lane]);
    }
    must(runs === this.runs.length, 'I1 acknowledged', `${this.runs.length - runs} runs are gone`);
  }
}

/** Admission refused it, so that it never had a key. A handler rejects only what was leased to it. */
function isRefused({ status, attempt }: Run): boolean {
  return status === 'rejected' && attempt === 0;
}

/** Entries are added with greater ids, and leave the run only for a record of their own. */
function checkTrace(before: Run | undefined, after: Run, changes: readonly Change[]): void {
  let last = before?.lastSequenceId ?? '';
  const kept = new Set(after.trace.map(({ sequenceId }) => sequenceId));
  const moved = changes
    .filter(({ key }) => key.collection === 'traces')
    .flatMap(({ after: put }) => JSON.parse(put?.body ?? '[]') as TraceEntry[]);
  for (const { sequenceId } of moved) kept.add(sequenceId);
  for (const { sequenceId } of before?.trace ?? []) {
    must(kept.has(sequenceId), 'I12 trace', `${after.id} has lost ${sequenceId}`);
  }
  for (const { sequenceId } of after.trace) {
    if (before?.trace.some((entry) => entry.sequenceId === sequenceId) === true) continue;
    must(sequenceId > last, 'I12 trace', `${after.id} has ${sequenceId} after ${last}`);
    last = sequenceId;
  }
  must(after.lastSequenceId === last, 'I12 trace', `${after.id} does not know its last id`);
}
