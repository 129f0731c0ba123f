/**
 * What must hold whatever happens:
 *
 * - `I1 acknowledged`: a commit that was answered is there.
 * - `I2 whole`: of a commit, all is there or nothing.
 * - `I3 one result`: a tenant's key has one result, and every repetition is answered with it.
 * - `I4 revisions`: those of a document are 1, 2, 3 and so on without a gap, deletes included.
 * - `I5 fence`: at most one owner, who changes only through a release.
 * - `I6 event`: never lost, never moved by somebody whose token was replaced, never delivered beyond its ceiling.
 * - `I7 token`: at most one holds an event.
 * - `I11 tenant`: what is done to one tenant does not touch another.
 * - `I13 counts`: the lists by state add up to all.
 * - `I14 export`: a copy is what the tenant was at one moment between question and answer.
 * - `I15 restore`: all that the tenant has is replaced by the copy, at one moment or not at all, and without its leases.
 * - `answer`: what was answered was right at a moment between question and answer.
 * - `linearizable`: what all clients saw of one object is one history.
 * - `progress`: once faults have stopped, everything comes to an end.
 * - `I7 lease`: at most one holds a run, and nobody else moves it.
 * - `I8 run`: a run goes only from a state to one that follows it, and never leaves a terminal one; tries are bounded.
 * - `I9 event once`: an event raised into a run is kept until one wait consumes it.
 * - `I10 looked after`: a run that is not over has a moment, a holder, an event to wait for, or is queued.
 * - `I12 trace`: the sequence ids of a run strictly increase.
 * - `admission`: an idempotency key has one run, and no more runs are active than may be, as the counters say.
 * - `one at a time`: of the runs of one concurrency key one is executed.
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
