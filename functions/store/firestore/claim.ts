import type { QueryDocumentSnapshot } from '@google-cloud/firestore';
import { type ClaimDecision, type ClaimRequest, type Collection, type Scope, StoreError } from '../port.ts';
import { sendBatch } from './client.ts';
import { dueDocuments, entryOf } from './due.ts';
import { type CommitFailure, codeFailure, commitFailure } from './failures.ts';
import { collectionPath } from './layout.ts';
import { inLiveGeneration } from './read.ts';
import { nameOf, recordOf, storedOf } from './records.ts';
import { nonce, Patience, type Session } from './session.ts';
import { assertFits } from './size.ts';
import { type PlannedWrite, updateWrites } from './writes.ts';

/** Documents read at a time: enough for the requested wins, yet limited, because they include the bodies. */
const batchMin = 16;
const batchMax = 200;

/** A record on offer and its planned write. */
interface Offer<R> {
  readonly path: string;
  readonly write: PlannedWrite;
  readonly result?: R;
}

/**
 * Reads due records without a lock, then sends one conditional write for each record: a rival wins single records and
 * never delays the others. A write with a lost answer counts as lost; if Firestore applied it, the record is no longer
 * due or is offered again in its new state, as the port demands of every claim.
 */
export async function claim<R>(
  session: Session,
  scope: Scope,
  collection: Collection,
  request: ClaimRequest,
  decide: ClaimDecision<R>,
): Promise<R[]> {
  const won: R[] = [];
  try {
    await claimInto(won, session, scope, collection, request, decide);
  } catch (error) {
    // Won records are changed in the database, so their results must reach the caller in spite of a later failure.
    if (won.length === 0 || !(error instanceof StoreError)) throw error;
  }
  return won;
}

async function claimInto<R>(
  won: R[],
  session: Session,
  scope: Scope,
  collection: Collection,
  { now, limit }: ClaimRequest,
  decide: ClaimDecision<R>,
): Promise<void> {
  const patience = new Patience(session);
  const stamp = nonce(session);
  // Records that were skipped, parked or won: a record that stays due after its write is offered once only.
  const settled = new Set<string>();
  let offers = 0;
  let after: string | undefined;
  let lost = false;
  while (won.length < limit) {
    const size = Math.min(batchMax, Math.max(batchMin, limit - won.length));
    const due = await inLiveGeneration(session, scope, ({ generation }) =>
      dueDocuments(session, collectionPath(scope, generation, collection.name), now, after, size),
    );
    const round: Offer<R>[] = [];
    let prospects = 0;
    for (const document of due) {
      if (won.length + prospects >= limit) break;
      after = entryOf(document);
      if (settled.has(document.ref.path)) continue;
      settled.add(document.ref.path);
      const number = offers;
      offers += 1;
      const offer = offered(session, collection, document, `${stamp}.${number}`, (record) =>
        decide(record, number),
      );
      if (offer === undefined) continue;
      round.push(offer);
      if ('result' in offer) prospects += 1;
    }
    const { losers, error } = await send(session, round, won);
    for (const path of losers) settled.delete(path);
    lost ||= losers.length > 0;
    if (error !== undefined) await patience.afterDoubt(error);
    if (due.length === size || won.length >= limit) continue;
    if (!lost) return;
    // A record that a rival changed may still be due, so the next pass starts at the beginning.
    if (error === undefined) await patience.afterRefusal();
    lost = false;
    after = undefined;
  }
}

function offered<R>(
  session: Session,
  collection: Collection,
  document: QueryDocumentSnapshot,
  stamp: string,
  decide: (record: ReturnType<typeof recordOf>) => ReturnType<ClaimDecision<R>>,
): Offer<R> | undefined {
  const stored = storedOf(document, { collection: collection.name, id: document.id });
  if (stored === undefined) return undefined;
  const decision = decide(recordOf(stored, 'body'));
  if (decision === null) return undefined;
  if (nameOf(decision.put.key) !== nameOf(stored.key)) {
    throw new Error(`a claim of ${nameOf(stored.key)} wrote ${nameOf(decision.put.key)}`);
  }
  const [write, ...more] = updateWrites(session, stored, decision.put, stamp);
  // The writes of a round are made each on its own.
  if (more.length > 0) throw new TypeError('a claim changes no search entry');
  const { result } = decision;
  return { path: stored.path, write, ...(result === undefined ? {} : { result }) };
}

async function send<R>(
  session: Session,
  round: readonly Offer<R>[],
  won: R[],
): Promise<{ losers: string[]; error?: unknown }> {
  if (round.length === 0) return { losers: [] };
  const batch = session.db.batch();
  for (const { write } of round) {
    assertFits([write], session.limits);
    write.addTo(batch, session.db);
  }
  let status: readonly { readonly code?: number | null }[];
  try {
    status = (await sendBatch(batch, 'batchWrite')).status ?? [];
  } catch (error) {
    const failure: CommitFailure = commitFailure(error);
    return { losers: round.map(({ path }) => path), ...(failure === 'refused' ? {} : { error }) };
  }
  const losers: string[] = [];
  let doubt: unknown;
  for (const [index, { path, result }] of round.entries()) {
    const code = status[index]?.code ?? 0;
    if (code === 0) {
      if (result !== undefined) won.push(result);
      continue;
    }
    losers.push(path);
    if (codeFailure(code, status[index]) !== 'refused') doubt = status[index];
  }
  return { losers, ...(doubt === undefined ? {} : { error: doubt }) };
}
