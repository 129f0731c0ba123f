import type { ClaimDecision, ClaimRequest, Collection, Scope } from '../port.ts';
import { type Connection } from './connection.ts';
import { afterPlace, due, firstDue, inOrder, placeOf, selectDue } from './due.ts';
import { nothing, type Plan } from './plan.ts';
import { nameOf, type RecordRow, recordOf } from './rows.ts';
import { persistently, type Session } from './session.ts';
import { shareScope } from './space.ts';
import { arrayOf, BEGIN, statement } from './statement.ts';
import { writesOf } from './write.ts';

/** Rows read at a time: enough for the requested wins, yet limited, because they include the bodies. */
const batchMin = 8;
const batchMax = 128;
/** Offers of one transaction at most: rivals cannot reach the locked records. The next call continues. */
const offersMax = 1_000;
/** How often a call that won nothing waits for rivals that hold due records. */
const waitsMax = 3;

/** Skips rows that rivals hold, so that claims never wait for each other and cannot deadlock. */
const takeDue = `${selectDue} FOR UPDATE OF r SKIP LOCKED`;
const countDue = `SELECT count(*)::int AS count FROM (SELECT 1 ${due} ${afterPlace} LIMIT $8) AS r`;
// The statement chooses one row before it locks any. A statement that waits in order would also lock rows that are no longer
// due, and two such statements can deadlock.
const waitForDue = `
  WITH first AS MATERIALIZED (
    SELECT r.space, r.collection, r.id ${due} AND r.id <> ALL ($5::text[]) ${inOrder} LIMIT 1
  )
  SELECT r.id FROM first CROSS JOIN LATERAL (
    SELECT r.id FROM records AS r
    WHERE r.space = first.space AND r.collection = first.collection AND r.id = first.id FOR UPDATE
  ) AS r`;

/** One call of `claim`. */
interface Call<R> {
  readonly session: Session;
  readonly scope: Scope;
  readonly collection: Collection;
  readonly request: ClaimRequest;
  readonly decide: ClaimDecision<R>;
  /** The offers made so far; a repeated attempt continues the count. */
  offers: number;
  /** Ids offered in transactions that were committed: a record that is still due is offered once. */
  readonly offered: Set<string>;
}

/**
 * Locks due records, decides, writes and commits. A call that would return nothing while rivals hold due records waits
 * for them, because they may release the records unchanged.
 */
export async function claim<R>(
  session: Session,
  scope: Scope,
  collection: Collection,
  request: ClaimRequest,
  decide: ClaimDecision<R>,
): Promise<R[]> {
  const call: Call<R> = { session, scope, collection, request, decide, offers: 0, offered: new Set() };
  if (request.limit <= 0) return [];
  for (let waits = 0; ; waits += 1) {
    const { won, offered, passedOver } = await persistently(session, (connection) => pass(call, connection));
    for (const id of offered) call.offered.add(id);
    if (won.length > 0 || !passedOver || waits === waitsMax) return won;
    await persistently(session, (connection) => waitForRival(call, connection));
  }
}

interface Pass<R> {
  readonly won: R[];
  readonly offered: ReadonlySet<string>;
  /** Something was due that a rival held. */
  readonly passedOver: boolean;
}

async function pass<R>(call: Call<R>, connection: Connection): Promise<Pass<R>> {
  const { limit } = call.request;
  const won: R[] = [];
  const offered = new Set<string>();
  let passedOver = false;
  let after = firstDue;
  const opening = [BEGIN, shareScope(call.session, call.scope)];
  let plan: Plan = nothing;
  let space = '';
  let wrote = false;
  for (let first = true; ; first = false) {
    const size = Math.min(batchMax, Math.max(batchMin, limit - won.length));
    const place = [call.scope.kind, call.scope.name, call.collection.name, call.request.now, ...after, size];
    const before = first ? opening : writesOf(space, plan, call.session);
    const answers = await connection.send(
      ...before,
      statement(takeDue, ...place),
      statement(countDue, ...place),
    );
    const [rows, [counted]] = answers.slice(-2) as [RecordRow[], { count: number }[]];
    if ((counted?.count ?? 0) > rows.length) passedOver = true;
    const updates: { row: RecordRow; record: ReturnType<typeof recordOf> }[] = [];
    for (const row of rows) {
      if (won.length >= limit) break;
      after = placeOf(row);
      space = row.space;
      if (offered.has(row.id) || call.offered.has(row.id)) continue;
      offered.add(row.id);
      const decision = decideOn(call, row);
      if (decision === null) continue;
      updates.push({ row, record: decision.put });
      if (decision.result !== undefined) won.push(decision.result);
    }
    plan = { ...nothing, updates };
    plan = { ...plan, searched: await call.session.search.change(connection, call.scope, plan) };
    wrote ||= updates.length > 0;
    if (won.length >= limit || rows.length < size || offered.size >= offersMax) break;
  }
  if (wrote) await connection.commit(...writesOf(space, plan, call.session));
  else connection.leave();
  return { won, offered, passedOver };
}

function decideOn<R>(call: Call<R>, row: RecordRow): ReturnType<ClaimDecision<R>> {
  const number = call.offers;
  call.offers += 1;
  const decision = call.decide(recordOf(row, 'body'), number);
  if (decision !== null && nameOf(decision.put.key) !== nameOf(row)) {
    throw new Error(`a claim of ${nameOf(row)} wrote ${nameOf(decision.put.key)}`);
  }
  return decision;
}

/** The call holds no lock during the wait, so no rival can wait for it in turn. */
async function waitForRival<R>(call: Call<R>, connection: Connection): Promise<void> {
  const place = [call.scope.kind, call.scope.name, call.collection.name, call.request.now] as const;
  await connection.send(BEGIN, statement(waitForDue, ...place, arrayOf([...call.offered])));
  connection.leave();
}
