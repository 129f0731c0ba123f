import type { CanonicalTransactionResult } from '../../contracts/generated/models.ts';
import type { RecordData, Scope } from '../../functions/store/port.ts';
import { type AnyCall, type AnyOutcome, type Call, currentCall } from './canonical-calls.ts';
import { CopyOracle, isExport, isRestore } from './copy-oracle.ts';
import { decisionTime, exhausted, judgeEvent, leasable, settled } from './event-model.ts';
import type { Oracle } from './faults.ts';
import type { Change } from './memory-database.ts';
import { CanonicalModel, nameOf } from './model.ts';
import { withoutReplayed } from './portraits.ts';
import { checkDocument, checkEvent, checkFence, resultOf } from './record-checks.ts';
import type { Scheduler } from './scheduler.ts';
import type { Verdict } from './verdict.ts';
import { type EventModel } from './verdict.ts';
import { must, Violation } from './violation.ts';

/**
 * Compares every write with the model at the very moment it becomes visible, every refusal with the moment at which its
 * state was read, and every answer before a client sees it. Later, other writes would have covered the traces.
 */
export class CommitPointOracle implements Oracle {
  readonly models = new Map<string, CanonicalModel>();
  /** How often something rare happened, so that a test can ask for it. */
  readonly reached = new Map<string, number>();
  readonly #scheduler: Scheduler;
  readonly #copies: CopyOracle;
  /** Keys whose first result was answered as such. */
  readonly #firsts = new Set<string>();

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
    this.#copies = new CopyOracle(this.model.bind(this), this.reach.bind(this));
  }

  model(tenantId: string): CanonicalModel {
    const model = this.models.get(tenantId) ?? new CanonicalModel(tenantId);
    this.models.set(tenantId, model);
    return model;
  }

  reach(what: string): void {
    this.reached.set(what, (this.reached.get(what) ?? 0) + 1);
  }

  /** Called when a client sends a call: its answer must not show an earlier state of the tenant. */
  readonly sent = (call: AnyCall): void => {
    call.since = this.model(call.params.tenantId).states.length - 1;
  };

  readonly observed = (): void => {
    const call = currentCall();
    const judged =
      call?.operation === 'commitCanonicalTransaction' || (call !== undefined && 'eventId' in call.params);
    if (!judged) return;
    const model = this.model(call.params.tenantId);
    if (call.operation !== 'renewCanonicalOutboxLease') {
      call.verdict = model.judge(call as Call);
      return;
    }
    // Judged by the state that the attempt was shown, and by the time at which it decides later.
    const { eventId } = call.params as Call<'renewCanonicalOutboxLease'>['params'];
    const event = model.events.get(eventId);
    Object.defineProperty(call, 'verdict', {
      get: () => judgeEvent(call as Call, event),
      configurable: true,
    });
  };

  readonly replaced = (scope: Scope, records: readonly Required<Omit<RecordData, 'keptOutside'>>[]): void => {
    this.#guard(() => {
      const call = currentCall();
      must(call !== undefined, 'internal', 'a swap belongs to no call');
      this.#scheduler.note(`#${call.number} replaces ${scope.name} by ${records.length} records`);
      this.#copies.replaced(call, scope, records);
    });
  };

  readonly applied = (scope: Scope, changes: readonly Change[]): void => {
    if (scope.kind === 'system') return;
    this.#guard(() => {
      const call = currentCall();
      must(call !== undefined, 'internal', 'a write belongs to no call');
      must(
        'tenantId' in call.params && call.params.tenantId === scope.name,
        'I11 tenant',
        'a write left its tenant',
      );
      this.#scheduler.note(`#${call.number} writes ${changes.map(({ key }) => key.collection).join(' ')}`);
      if (call.operation === 'leaseCanonicalOutbox') this.#checkClaim(call as Call, changes);
      else this.#checkWrite(call as Call, changes);
    });
  };

  readonly answered = (call: AnyCall, outcome: AnyOutcome): void => {
    this.#guard(() => {
      this.#scheduler.note(
        `#${call.number} ${outcome.kind === 'refused' ? outcome.error.code : outcome.kind}`,
      );
      this.reach(outcome.kind === 'refused' ? outcome.error.code : outcome.kind);
      if (isExport(call) || isRestore(call)) return this.#copies.answered(call, outcome);
      if (outcome.kind === 'refused') {
        const { verdict } = call;
        const { code } = outcome.error;
        const expected = verdict?.kind === 'refused' ? verdict.code : verdict?.kind;
        // Reads are not judged here: their answers are left to the histories.
        if (verdict === undefined)
          must(code === 'not_found', 'answer', `${call.operation} refused with ${code}`);
        else must(code === expected, 'answer', `${call.operation} refused with ${code}, not ${expected}`);
        const { restores } = this.model(call.params.tenantId);
        if (code === 'lease_stale' && restores > 0) this.reach('lease_stale after a restore');
      }
      if (outcome.kind === 'answer' && call.operation === 'commitCanonicalTransaction') {
        this.#checkResult(call as Call, outcome.body as CanonicalTransactionResult);
      }
    });
  };

  #guard(check: () => void): void {
    try {
      check();
    } catch (error) {
      this.#scheduler.fail(error instanceof Error ? error : new Violation('internal', String(error)));
    }
  }

  #checkResult(call: Call, result: CanonicalTransactionResult): void {
    const { verdict, wrote } = call;
    const key = nameOf(result.tenantId, result.idempotencyKey);
    // Do not compare with the model of now: a restore may have come between the commit and its answer.
    const kept = result.replayed
      ? verdict?.kind === 'replayed'
        ? verdict.result
        : undefined
      : wrote?.result;
    if (result.replayed) must(kept !== undefined, 'I3 one result', `${key} was replayed though it was new`);
    must(kept !== undefined, 'I1 acknowledged', `${key} was answered, not committed`);
    must(withoutReplayed(result) === kept, 'I3 one result', `${key} has two results`);
    if (result.replayed) return;
    // A restore may free a key, which is then committed again.
    const name = `${key} after ${wrote?.restores} restores`;
    must(!this.#firsts.has(name), 'I3 one result', `${name} was committed twice`);
    this.#firsts.add(name);
  }

  #checkWrite(call: Call, changes: readonly Change[]): void {
    const model = this.model(call.params.tenantId);
    const verdict = model.judge(call);
    if (verdict.kind === 'event') {
      const [change] = changes;
      must(changes.length === 1 && change !== undefined, 'I2 whole', 'a call for one event wrote more');
      checkEvent(change, verdict.event);
      this.reach(`${call.operation} ${verdict.event.state}`);
    } else if (verdict.kind === 'commit') {
      checkCommit(changes, verdict);
    } else {
      const code = verdict.kind === 'refused' ? verdict.code : verdict.kind;
      const [event, fence] = [call.operation !== 'commitCanonicalTransaction', code.startsWith('fence')];
      const invariant = event
        ? 'I6 event'
        : fence
          ? 'I5 fence'
          : code === 'replayed'
            ? 'I3 one result'
            : 'I2 whole';
      throw new Violation(invariant, `${call.operation} wrote where the answer is ${code}`);
    }
    const receipt = changes.find(({ key }) => key.collection === 'commits')?.after;
    const result = receipt === undefined ? '' : resultOf(model.tenantId, receipt);
    if (verdict.kind === 'commit') {
      call.wrote = { result, restores: model.restores };
      const { idempotencyKey } = (call as Call<'commitCanonicalTransaction'>).body;
      if (model.keys.has(idempotencyKey)) this.reach('a freed key committed anew');
    }
    model.accept(call, verdict, result);
  }

  /** A lease call gives away what is due, parks what has used up its deliveries, and does nothing else. */
  #checkClaim(call: Call, changes: readonly Change[]): void {
    const model = this.model(call.params.tenantId);
    const at = decisionTime(call);
    for (const change of changes) {
      const after = change.after?.head;
      must(
        change.key.collection === 'events' && after !== undefined,
        'I6 event',
        'a lease call wrote something else',
      );
      const before = model.events.get(String(after.id));
      must(before !== undefined, 'I6 event', `a lease call made ${after.id}`);
      const now = settled(before, at);
      if (after.state === 'dead-letter') {
        must(
          before.state === 'leased' && now.state === 'dead',
          'I6 event',
          `${before.id} was parked too early`,
        );
        checkEvent(change, now);
        model.events.set(before.id, now);
        this.reach('parked by expiry');
        model.keep();
        continue;
      }
      must(
        !(before.state === 'leased' && exhausted(before)),
        'I6 event',
        `${before.id} was leased beyond its ${before.max} deliveries`,
      );
      must(leasable(before, at), 'I7 token', `${before.id} was leased while it was ${before.state}`);
      const tokenHash = String(after.leaseTokenHash);
      must(!model.tokens.has(tokenHash), 'I7 token', `${before.id} got a token that was given before`);
      model.tokens.add(tokenHash);
      if (before.state === 'leased') this.reach('lease taken over');
      const { leaseSeconds } = call.body as Call<'leaseCanonicalOutbox'>['body'];
      const expiry = at + Math.ceil((leaseSeconds ?? 60) * 1_000);
      const leased: EventModel = { ...before, state: 'leased', count: before.count + 1, expiry, tokenHash };
      checkEvent(change, leased);
      model.events.set(before.id, leased);
      model.keep();
    }
  }
}

function checkCommit(changes: readonly Change[], verdict: Extract<Verdict, { kind: 'commit' }>): void {
  const byCollection = (name: string) => changes.filter(({ key }) => key.collection === name);
  const receipts = byCollection('commits');
  must(receipts.length === 1, 'I2 whole', `a commit wrote ${receipts.length} receipts`);
  must(receipts[0]?.before === undefined, 'I3 one result', 'a commit wrote over a receipt');
  const documents = byCollection('documents');
  must(
    documents.length === verdict.documents.length,
    'I2 whole',
    'a commit wrote too few or too many documents',
  );
  for (const effect of verdict.documents) checkDocument(documents, receipts[0]?.after, effect);
  const fences = byCollection('fences');
  must(fences.length === verdict.fences.length, 'I5 fence', 'a commit moved too few or too many fences');
  for (const effect of verdict.fences) checkFence(fences, effect);
  const events = byCollection('events');
  must(events.length === verdict.events.length, 'I2 whole', 'a commit wrote too few or too many events');
  for (const effect of verdict.events) {
    const change = events.find(({ after }) => after?.head.id === effect.id);
    must(change !== undefined, 'I2 whole', `a commit left out the event ${effect.id}`);
    must(change.before === undefined, 'I6 event', `a commit wrote over the event ${effect.id}`);
    checkEvent(change, effect);
  }
}
