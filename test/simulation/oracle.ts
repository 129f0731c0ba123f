import type { CanonicalTransactionResult } from '../../contracts/generated/models.ts';
import { canonicalJson } from '../../functions/kernel/canonical-json.ts';
import type { Head, RecordData, Scope } from '../../functions/store/port.ts';
import { type Call, currentCall, type Outcome } from './cluster.ts';
import { type EventModel, exhausted, leasable, settled } from './event-model.ts';
import type { Oracle } from './faults.ts';
import type { Change } from './memory-database.ts';
import { CanonicalModel, nameOf } from './model.ts';
import type { Scheduler } from './scheduler.ts';
import type { DocumentEffect, FenceEffect, Verdict } from './verdict.ts';
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
  /** Keys whose first result was answered as such. */
  readonly #firsts = new Set<string>();

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  model(tenantId: string): CanonicalModel {
    const model = this.models.get(tenantId) ?? new CanonicalModel(tenantId);
    this.models.set(tenantId, model);
    return model;
  }

  reach(what: string): void {
    this.reached.set(what, (this.reached.get(what) ?? 0) + 1);
  }

  readonly observed = (): void => {
    const call = currentCall();
    const judged =
      call?.operation === 'commitCanonicalTransaction' || (call !== undefined && 'eventId' in call.params);
    if (judged) call.verdict = this.model(call.params.tenantId).judge(call);
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
      if (call.operation === 'leaseCanonicalOutbox') this.#checkClaim(call, changes);
      else this.#checkWrite(call, changes);
    });
  };

  readonly answered = (call: Call, outcome: Outcome): void => {
    this.#guard(() => {
      this.#scheduler.note(
        `#${call.number} ${outcome.kind === 'refused' ? outcome.error.code : outcome.kind}`,
      );
      this.reach(outcome.kind === 'refused' ? outcome.error.code : outcome.kind);
      if (outcome.kind === 'refused') {
        const { verdict } = call;
        const { code } = outcome.error;
        const expected = verdict?.kind === 'refused' ? verdict.code : verdict?.kind;
        // Reads are not judged here: their answers are left to the histories.
        if (verdict === undefined)
          must(code === 'not_found', 'answer', `${call.operation} refused with ${code}`);
        else must(code === expected, 'answer', `${call.operation} refused with ${code}, not ${expected}`);
      }
      if (outcome.kind === 'answer' && call.operation === 'commitCanonicalTransaction') {
        this.#checkResult(call, outcome.body as CanonicalTransactionResult);
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
    const receipt = this.model(result.tenantId).receipts.get(result.idempotencyKey);
    must(receipt !== undefined, 'I1 acknowledged', `${result.idempotencyKey} was answered, not committed`);
    must(
      withoutReplayed(result) === receipt.result,
      'I3 one result',
      `${result.idempotencyKey} has two results`,
    );
    const name = nameOf(result.tenantId, result.idempotencyKey);
    if (result.replayed) {
      must(call.verdict?.kind === 'replayed', 'I3 one result', `${name} was replayed though it was new`);
      return;
    }
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
    model.accept(call, verdict, receipt === undefined ? '' : resultOf(model.tenantId, receipt));
  }

  /** A lease call gives away what is due, parks what has used up its deliveries, and does nothing else. */
  #checkClaim(call: Call, changes: readonly Change[]): void {
    const model = this.model(call.params.tenantId);
    for (const change of changes) {
      const after = change.after?.head;
      must(
        change.key.collection === 'events' && after !== undefined,
        'I6 event',
        'a lease call wrote something else',
      );
      const before = model.events.get(String(after.id));
      must(before !== undefined, 'I6 event', `a lease call made ${after.id}`);
      const now = settled(before, call.now);
      if (after.state === 'dead-letter') {
        must(
          before.state === 'leased' && now.state === 'dead',
          'I6 event',
          `${before.id} was parked too early`,
        );
        checkEvent(change, now);
        model.events.set(before.id, now);
        this.reach('parked by expiry');
        continue;
      }
      must(
        !(before.state === 'leased' && exhausted(before)),
        'I6 event',
        `${before.id} was leased beyond its ${before.max} deliveries`,
      );
      must(leasable(before, call.now), 'I7 token', `${before.id} was leased while it was ${before.state}`);
      const tokenHash = String(after.leaseTokenHash);
      must(!model.tokens.has(tokenHash), 'I7 token', `${before.id} got a token that was given before`);
      model.tokens.add(tokenHash);
      if (before.state === 'leased') this.reach('lease taken over');
      const { leaseSeconds } = call.body as Call<'leaseCanonicalOutbox'>['body'];
      const expiry = call.now + Math.ceil((leaseSeconds ?? 60) * 1_000);
      const leased: EventModel = { ...before, state: 'leased', count: before.count + 1, expiry, tokenHash };
      checkEvent(change, leased);
      model.events.set(before.id, leased);
    }
  }
}

/** A result as the receipt must keep it, whether or not it is a replay. */
export function withoutReplayed(result: CanonicalTransactionResult): string {
  return canonicalJson({ ...result, replayed: undefined });
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

function checkDocument(
  changes: readonly Change[],
  receipt: RecordData | undefined,
  effect: DocumentEffect,
): void {
  const { documentType, id, revision, deleted, dataText } = effect;
  const change = changes.find(
    ({ after }) => after?.head.documentType === documentType && after.head.id === id,
  );
  const after = change?.after;
  must(after !== undefined, 'I2 whole', `a commit left out the document ${id}`);
  const before = Number(change?.before?.head.revision ?? 0);
  must(
    before + 1 === revision && after.head.revision === revision,
    'I4 revisions',
    `${id} went from ${before}`,
  );
  must(after.head.deleted === deleted && after.body === dataText, 'I2 whole', `${id} has other content`);
  const filed = receipt?.parts?.filter(({ of }) => of === after.key.id) ?? [];
  must(filed.length === 1, 'I4 revisions', `revision ${revision} of ${id} was filed ${filed.length} times`);
  must(
    Number(filed[0]?.order) === revision,
    'I4 revisions',
    `revision ${revision} of ${id} has another place`,
  );
}

function checkFence(changes: readonly Change[], { name, value, owner }: FenceEffect): void {
  const of = (head: Head | undefined) =>
    head === undefined ? null : nameOf(String(head.ownerDocumentType), String(head.ownerDocumentId));
  const change = changes.find(({ before, after }) => {
    const head = (after ?? before)?.head;
    return head?.name === name && head.value === value;
  });
  must(change !== undefined, 'I5 fence', `the fence ${value} was not moved`);
  must(
    change.before === undefined || change.after === undefined,
    'I5 fence',
    `the fence ${value} changed hands`,
  );
  must(of(change.after?.head) === owner, 'I5 fence', `the fence ${value} has another owner`);
}

const STATES = { open: 'open', leased: 'leased', delivered: 'delivered', dead: 'dead-letter' } as const;

/** The record of an event says what the model says, and when the next lease call should meet it. */
export function checkEvent({ before, after }: Change, event: EventModel): void {
  must(after !== undefined, 'I6 event', `${event.id} is gone`);
  const { head, due, body, listing } = after;
  const moment = (text: unknown) => (typeof text === 'string' ? Date.parse(text) : null);
  const found = {
    id: head.id,
    state: head.state,
    count: head.deliveryCount,
    max: head.maxDeliveryAttempts,
    notBefore: moment(head.notBeforeUtc),
    expiry: moment(head.leaseExpiresAtUtc),
    tokenHash: head.leaseTokenHash,
    topic: listing?.indexes.topic,
  };
  const { state, expiry, notBefore } = event;
  const expected = { ...found, ...event, state: STATES[state] };
  const difference = Object.keys(found).filter((name) => found[name as 'id'] !== expected[name as 'id']);
  must(difference.length === 0, 'I6 event', `${event.id} has another ${difference.join(', ')}`);
  const dueAt =
    state === 'open' ? (notBefore ?? moment(head.createdAtUtc)) : state === 'leased' ? expiry : null;
  must(due === dueAt, 'I6 event', `${event.id} is due at ${due}, not ${dueAt}`);
  must(before === undefined || before.body === body, 'I6 event', `${event.id} has another payload`);
}

/** The answer that a receipt stands for, put together from the record alone. */
function resultOf(tenantId: string, { head, body, parts }: RecordData): string {
  const { documents, outbox } = JSON.parse(body ?? '') as { documents: string[]; outbox: unknown[] };
  const revision = (id: string) => parts?.find(({ of }) => of === id)?.body ?? '{}';
  const { transactionId, idempotencyKey, correlationId, actor, committedAtUtc } = head;
  return canonicalJson({
    transactionId,
    tenantId,
    idempotencyKey,
    correlationId,
    actor,
    committedAtUtc,
    documents: documents.map((id) => (JSON.parse(revision(id)) as { document: unknown }).document),
    outbox,
  });
}
