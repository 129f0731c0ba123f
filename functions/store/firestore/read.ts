import { type DocumentSnapshot, type Query, type QuerySnapshot, Timestamp } from '@google-cloud/firestore';
import { type RecordData, type Scope, StoreError } from '../port.ts';
import { withinTime } from './client.ts';
import { readFailure } from './failures.ts';
import { continuationPath, FIRST_GENERATION, type Fields, headPath, recordPath } from './layout.ts';
import { type AskedKey, fieldsOf, nameOf, recordOf, type Stored, storedOf, widest } from './records.ts';
import type { ScopeState, Session } from './session.ts';

/** Records as of one moment, in the generation that was live at that moment. */
export interface MomentReading {
  readonly state: ScopeState;
  readonly at: Timestamp;
  /** Existing documents, by name. */
  readonly stored: ReadonlyMap<string, Stored>;
  readonly records: ReadonlyMap<string, RecordData>;
}

/** A generation that was live, and when it was read: its records at that time are the scope at one moment. */
export interface Fixed {
  readonly state: ScopeState;
  readonly at: Timestamp;
}

const stateFields = ['generation'];

/** A scope is swapped rarely; a guess that stays wrong means that something rewrites its head all the time. */
const guessesMax = 5;

/**
 * The scope's head and the records of these keys in one BatchGet. Their paths hold the generation, so it is guessed from
 * the last read, and the read is repeated when the head names another.
 */
export async function readKeys(
  session: Session,
  scope: Scope,
  keys: readonly AskedKey[],
): Promise<MomentReading> {
  for (let guesses = 0; guesses < guessesMax; guesses += 1) {
    const { generation } = session.states.guess(scope);
    const refs = [headPath(scope), ...keys.map(({ key }) => recordPath(scope, generation, key))];
    const fieldMask = [...stateFields, ...fieldsOf(widest(keys.map(({ view }) => view)))];
    const [head, ...snapshots] = await reading(
      session,
      session.db.getAll(...refs.map((path) => session.db.doc(path)), { fieldMask }),
    );
    if (head === undefined)
      throw new StoreError('corrupt', 'Firestore left out a document that was asked for');
    const state = stateOf(head);
    session.states.saw(scope, state);
    // The client requests the missing parts of a broken answer again, and then one read holds parts of two moments.
    const torn = snapshots.some(({ readTime }) => !readTime.isEqual(head.readTime));
    if (state.generation === generation && !torn)
      return withRecords(session, keys, state, head.readTime, snapshots);
  }
  throw new StoreError('contention', 'the scope was swapped, or the answer broken, during every read');
}

async function withRecords(
  session: Session,
  keys: readonly AskedKey[],
  state: ScopeState,
  at: Timestamp,
  snapshots: readonly DocumentSnapshot[],
): Promise<MomentReading> {
  const stored = new Map<string, Stored>();
  const records = new Map<string, RecordData>();
  for (const [index, { key, view }] of keys.entries()) {
    const snapshot = snapshots[index];
    const found = snapshot === undefined ? undefined : storedOf(snapshot, key);
    if (found === undefined) continue;
    stored.set(nameOf(key), found);
    const more = view === 'parts' ? await readContinuations(session, found, at) : [];
    records.set(nameOf(key), recordOf(found, view, more));
  }
  return { state, at, stored, records };
}

/** Reads keys at a moment with a known generation. */
export async function readKeysAt(
  session: Session,
  scope: Scope,
  keys: readonly AskedKey[],
  { state, at }: Fixed,
): Promise<MomentReading> {
  const refs = keys.map(({ key }) => session.db.doc(recordPath(scope, state.generation, key)));
  const fieldMask = fieldsOf(widest(keys.map(({ view }) => view)));
  if (refs.length === 0) return withRecords(session, keys, state, at, []);
  const snapshots = await reading(
    session,
    session.db.runTransaction((transaction) => transaction.getAll(...refs, { fieldMask }), {
      readOnly: true,
      readTime: at,
    }),
  );
  return withRecords(session, keys, state, at, snapshots);
}

/** The moment of several queries: that of the first one. */
export interface ReadTime {
  at?: Timestamp;
}

export async function runAt(session: Session, query: Query, time: ReadTime): Promise<QuerySnapshot> {
  if (time.at === undefined) {
    const first = await reading(session, query.get());
    time.at = first.readTime;
    return first;
  }
  const options = { readOnly: true, readTime: time.at } as const;
  return reading(
    session,
    session.db.runTransaction((transaction) => transaction.get(query), options),
  );
}

/** Counts the results of a query at a moment: one billed read for up to a thousand. */
export async function countAt(session: Session, query: Query, readTime: Timestamp): Promise<number> {
  const options = { readOnly: true, readTime } as const;
  const counted = session.db.runTransaction((transaction) => transaction.get(query.count()), options);
  return (await reading(session, counted)).data().count;
}

/** At the moment of the record itself: parts go when the record goes. */
export async function readContinuations(
  session: Session,
  stored: Stored,
  readTime: Timestamp,
): Promise<Fields[]> {
  const count = stored.fields.continuations ?? 0;
  if (count === 0) return [];
  const refs = Array.from({ length: count }, (_, index) =>
    session.db.doc(continuationPath(stored.path, index + 1)),
  );
  const snapshots = await reading(
    session,
    session.db.runTransaction((transaction) => transaction.getAll(...refs), { readOnly: true, readTime }),
  );
  return snapshots.map((snapshot) => {
    const data = snapshot.data();
    if (data === undefined) throw new StoreError('corrupt', `${snapshot.ref.path} is missing`);
    return data as Fields;
  });
}

/**
 * The present head, to be read beside a query. A query in the guessed generation is right when the head, read after the
 * call began, still names it: then the scope was not swapped before the query began, and a swap since then may be placed
 * after it (`transact.ts` has the argument).
 */
async function readState(session: Session, scope: Scope): Promise<ScopeState> {
  const ref = session.db.doc(headPath(scope));
  const [head] = await reading(session, session.db.getAll(ref, { fieldMask: stateFields }));
  if (head === undefined) throw new StoreError('corrupt', 'Firestore left out a document that was asked for');
  const state = stateOf(head);
  session.states.saw(scope, state);
  return state;
}

/** Runs `query` in the guessed generation beside a read of the head, and again if the guess was wrong. */
export async function inLiveGeneration<R>(
  session: Session,
  scope: Scope,
  query: (state: ScopeState) => Promise<R>,
): Promise<R> {
  for (let guesses = 0; guesses < guessesMax; guesses += 1) {
    const guess = session.states.guess(scope);
    const [state, result] = await Promise.all([readState(session, scope), query(guess)]);
    if (state.generation === guess.generation) return result;
  }
  throw new StoreError('contention', 'the scope was swapped during every read');
}

function stateOf(head: DocumentSnapshot): ScopeState {
  const generation: unknown = head.get('generation') ?? FIRST_GENERATION;
  if (typeof generation !== 'string') {
    throw new StoreError('corrupt', `${head.ref.path} is not the head of a scope`);
  }
  return { generation };
}

/** Every read passes here: bounded in time, its failure in the words of the port. */
export async function reading<R>(session: Session, work: Promise<R>): Promise<R> {
  try {
    return await withinTime(session.timers, work, session.readsTimeoutMs);
  } catch (error) {
    throw readFailure(error);
  }
}
