/**
 * The invariants, which hold under all faults:
 *
 * - `I1 acknowledged`: an acknowledged commit stays in the store.
 * - `I2 whole`: the store holds all of a commit or nothing of it.
 * - `I3 one result`: a tenant's key has one result, and every repetition is answered with it.
 * - `I4 revisions`: the revisions of a document are 1, 2, 3 and so on without a gap, deletes included.
 * - `I5 fence`: at most one owner, who changes only through a release.
 * - `I6 event`: an event is never lost, never moved with a replaced token, never delivered beyond its ceiling.
 * - `I7 token`: at most one consumer holds an event.
 * - `I11 tenant`: an operation on one tenant does not change another.
 * - `I13 counts`: the lists by state add up to all.
 * - `I14 export`: a copy shows the tenant at one moment between request and answer.
 * - `I15 restore`: the copy replaces the whole tenant, at one moment or not at all, and without its leases.
 * - `answer`: an answer was right at a moment between request and answer.
 * - `linearizable`: the observations of all clients of one object form one history.
 * - `progress`: once faults have stopped, everything comes to an end.
 * - `I7 lease`: at most one worker holds a run, and only the holder changes it.
 * - `I8 run`: a run goes only from a state to one that follows it, and never leaves a terminal one; attempts are bounded.
 * - `I9 event once`: an event raised into a run is kept until one wait consumes it.
 * - `I10 looked after`: a run that is not over has a moment, a holder, an event to wait for, or is queued.
 * - `I12 trace`: the sequence ids of a run strictly increase.
 * - `admission`: an idempotency key has one run, the active runs stay within their ceiling, and the counters are right.
 * - `one at a time`: at most one run of a concurrency key is executed at a time.
 * - `a free key is used`: while a concurrency key is free, a waiting worker gets a queued run of it within a bounded time.
 * - `internal`: nothing fails in a way that the contract has no word for.
 */
export type Invariant =
  | 'I1 acknowledged'
  | 'I2 whole'
  | 'I3 one result'
  | 'I4 revisions'
  | 'I5 fence'
  | 'I6 event'
  | 'I7 token'
  | 'I11 tenant'
  | 'I13 counts'
  | 'I14 export'
  | 'I15 restore'
  | 'I7 lease'
  | 'I8 run'
  | 'I9 event once'
  | 'I10 looked after'
  | 'I12 trace'
  | 'admission'
  | 'one at a time'
  | 'answer'
  | 'linearizable'
  | 'a free key is used'
  | 'progress'
  | 'internal';

export class Violation extends Error {
  readonly invariant: Invariant;

  constructor(invariant: Invariant, message: string) {
    super(`${invariant}: ${message}`);
    this.name = 'Violation';
    this.invariant = invariant;
  }
}

export function must(condition: boolean, invariant: Invariant, message: string): asserts condition {
  if (!condition) throw new Violation(invariant, message);
}
