import type {
  Decision,
  LoadedRecords,
  RecordData,
  RecordKey,
  Scope,
  TransactRequest,
  Write,
} from '../port.ts';
import { checkWrites } from '../requested.ts';
import { sendBatch } from './client.ts';
import { type Doubt, shownAfter, wasApplied } from './doubts.ts';
import { type CommitFailure, commitFailure } from './failures.ts';
import { recordPath } from './layout.ts';
import { type MomentReading, readKeys } from './read.ts';
import { type AskedKey, distinctKeys, nameOf } from './records.ts';
import { nonce, Patience, type Session } from './session.ts';
import { assertFits } from './size.ts';
import {
  absentGuard,
  createWrites,
  type PlannedWrite,
  presentGuard,
  removeWrites,
  updateWrites,
} from './writes.ts';

/**
 * One BatchGet, one Commit, no lock: every guarded key is named in the Commit with its state as read (its update time, or
 * its absence), and all of it is written or nothing. A lost race shows at once and is decided again.
 *
 * The scope's head is read with the keys, yet not named in the Commit. Why a swap in between does no harm: this call read
 * generation G, so it began before the flip from G to G'. Its Commit still checks every key within G, so it takes effect
 * among the records of G as if it had committed just before the flip: after every other write to G that it could have seen,
 * in the order in which those were committed, and all of them are gone with G for every call that reads the head after the
 * flip. Calls that saw G may continue so after the flip; each of them was under way when it happened, and G is kept for an
 * hour, which none of them lasts. The same holds for queries and claims, which read the head beside their query, and for a
 * scan, whose moment lies before or after the flip.
 */
export async function transact<R>(
  session: Session,
  scope: Scope,
  request: TransactRequest,
  decide: (found: LoadedRecords) => Decision<R>,
): Promise<R> {
  const keys = distinctKeys(request.keys);
  const expected = keys.filter(({ expectAbsent }) => !expectAbsent);
  const patience = new Patience(session);
  const call = nonce(session);
  const doubts: Doubt<R>[] = [];
  let asked = expected;
  for (let attempt = 0; ; attempt += 1) {
    const reading = await readKeys(session, scope, asked);
    const applied = doubts.find((doubt) => wasApplied(doubt, reading));
    if (applied !== undefined) return applied.result;
    const unread = asked === keys ? [] : keys.filter(({ expectAbsent }) => expectAbsent);
    const decision = decideOn(shownAfter(doubts, reading, keys), unread, decide);
    if (decision === undefined) {
      asked = keys;
      continue;
    }
    if (decision.writes.length === 0) return decision.result;
    checkWrites(decision.writes, request.keys);
    const stamp = `${call}.${attempt}`;
    const plan = planCommit(session, scope, reading, keys, decision.writes, stamp);
    const { failure, error } = await commit(session, plan);
    if (failure === undefined) return decision.result;
    if (failure === 'unknown') {
      doubts.push({ stamp, reading, result: decision.result, writes: decision.writes });
    }
    asked = keys;
    await (failure === 'refused' ? patience.afterRefusal() : patience.afterDoubt(error));
  }
}

/**
 * `undefined` when the decision must be made again with every key read: it took keys for absent that were not read, and no
 * Commit will check that, because it writes nothing or was refused by the rule itself. A decision that never asked for such
 * a key, as one that answers from a receipt, holds.
 */
function decideOn<R>(
  records: ReadonlyMap<string, RecordData>,
  unread: readonly AskedKey[],
  decide: (found: LoadedRecords) => Decision<R>,
): Decision<R> | undefined {
  const unreadNames = new Set(unread.map(({ key }) => nameOf(key)));
  let relied = false;
  const get = (key: RecordKey): RecordData | undefined => {
    relied ||= unreadNames.has(nameOf(key));
    return records.get(nameOf(key));
  };
  try {
    const decision = decide({ get });
    return relied && decision.writes.length === 0 ? undefined : decision;
  } catch (error) {
    if (relied) return undefined;
    throw error;
  }
}

function planCommit(
  session: Session,
  scope: Scope,
  reading: MomentReading,
  keys: readonly AskedKey[],
  writes: readonly Write[],
  stamp: string,
): PlannedWrite[] {
  const guarded = keys.filter(({ unguarded }) => !unguarded);
  const unwritten = new Map(guarded.map(({ key }) => [nameOf(key), key]));
  const pathOf = (key: RecordKey): string => recordPath(scope, reading.state.generation, key);
  const plan: PlannedWrite[] = [];
  for (const write of writes) {
    const key = 'put' in write ? write.put.key : write.remove;
    unwritten.delete(nameOf(key));
    const stored = reading.stored.get(nameOf(key));
    if ('remove' in write)
      plan.push(...(stored === undefined ? [absentGuard(pathOf(key))] : removeWrites(stored)));
    else if (stored === undefined) plan.push(...createWrites(session, pathOf(key), write.put, stamp));
    else plan.push(...updateWrites(session, stored, write.put, stamp));
  }
  for (const [name, key] of unwritten) {
    const stored = reading.stored.get(name);
    plan.push(stored === undefined ? absentGuard(pathOf(key)) : presentGuard(stored));
  }
  assertFits(plan, session.limits);
  return plan;
}

async function commit(
  session: Session,
  plan: readonly PlannedWrite[],
): Promise<{ failure?: CommitFailure; error?: unknown }> {
  const batch = session.db.batch();
  for (const write of plan) write.addTo(batch, session.db);
  try {
    await sendBatch(batch, 'commit');
    return {};
  } catch (error) {
    return { failure: commitFailure(error), error };
  }
}
