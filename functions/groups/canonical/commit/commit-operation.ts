import type { CanonicalTransactionResult } from '../../../../contracts/generated/models.ts';
import type { Handler } from '../../../http/handler.ts';
import { inTurns } from '../../../kernel/turns.ts';
import type { LoadedRecords, RecordStore, Scope } from '../../../store/port.ts';
import { StoreError } from '../../../store/port.ts';
import type { CanonicalDependencies } from '../dependencies.ts';
import { dueTime } from '../outbox/outbox-event.ts';
import { commitKey, tenantScope } from '../records.ts';
import { type CommitPlan, commitKeys, decideCommit, planCommit } from './commit.ts';
import { readCommitRequest } from './commit-request.ts';
import { replayResult } from './receipt.ts';

/** A restore may remove a receipt between two reads; the commit is then decided again. */
const ATTEMPTS_MAX = 3;

/**
 * Commits documents, fences, outbox events and the idempotency receipt in one transaction, or answers a repeated key
 * from its receipt (specification, part A).
 */
export function commitCanonicalTransaction(
  dependencies: CanonicalDependencies,
): Handler<'commitCanonicalTransaction'> {
  return async ({ params, body }, context) => {
    const turns = dependencies.world.turns.of(params.tenantId);
    const request = await inTurns(readCommitRequest(params.tenantId, body), turns);
    // A verified caller is the actor, even if the body names another. Without authentication the body names the actor.
    const actor = context.caller.kind === 'workload' ? context.caller.principal : request.actor;
    const plan = planCommit({ ...request, actor }, context.now);
    const store = await dependencies.store();
    // An expired event has freed its id, so the rule must not see it.
    const present = (found: LoadedRecords) => dependencies.retention?.present(found, context.now) ?? found;
    const result = await commit(store, tenantScope(params.tenantId), plan, present);
    if (!result.replayed) announceEvents(dependencies, plan);
    return {
      status: 200,
      body: result,
      ...(result.replayed ? { headers: { 'Idempotency-Replayed': 'true' } } : {}),
    };
  };
}

/** Announces each due moment of the commit once: the waiting call that wakes leases all events of that moment. */
function announceEvents({ waits }: CanonicalDependencies, { request, events }: CommitPlan): void {
  const moments = new Set(events.map(({ event }) => dueTime(event)));
  for (const dueAt of moments) if (dueAt !== null) waits?.announce(request.tenantId, dueAt);
}

async function commit(
  store: RecordStore,
  scope: Scope,
  plan: CommitPlan,
  present: (found: LoadedRecords) => LoadedRecords,
): Promise<CanonicalTransactionResult> {
  const keys = commitKeys(plan);
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const outcome = await store.transact(scope, keys, (found) => decideCommit(plan, present(found)));
    if (!outcome.answeredFromReceipt) return outcome.result;
    const receipt = await readReceipt(store, scope, plan);
    if (receipt !== undefined) return replayResult(plan.request.tenantId, receipt);
  }
  throw new StoreError('contention', 'the receipt of this transaction appeared and disappeared');
}

async function readReceipt(store: RecordStore, scope: Scope, plan: CommitPlan) {
  const key = commitKey(plan.request.idempotencyKey);
  const page = await store.query(scope, { by: 'keys', keys: [{ key, view: 'parts' }] });
  return page.records[0];
}
