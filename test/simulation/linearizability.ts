/** A model of an object under sequential operations; `undefined` where it could not have answered so. */
export interface ObjectModel<State, Op> {
  readonly initial: State;
  step(state: State, operation: Op): State | undefined;
  /** Histories with the same operations in another order lead to equal states where the keys are equal. */
  key(state: State): string;
}

/** One operation as its caller saw it; moments are whole numbers that never repeat. */
export interface Observed<Op> {
  readonly operation: Op;
  readonly called: number;
  /** `null` where no answer came: it took effect at some time after the call, or never. */
  readonly returned: number | null;
}

interface Entry {
  readonly index: number;
  readonly isCall: boolean;
  next: Entry | null;
  previous: Entry | null;
  match: Entry | null;
}

/**
 * Whether some order of the operations, in which each lies between its call and its return, is one that the object
 * could have gone through: Wing and Gong's search as improved by Lowe, who remembers which sets of operations were
 * already tried with which state (Concurrency and Computation 29(4), 2017).
 */
export function isLinearizable<State, Op>(
  model: ObjectModel<State, Op>,
  history: readonly Observed<Op>[],
): boolean {
  const head = entriesOf(history);
  // One bit for each operation that has its place.
  let done = 0n;
  const tried = new Set<string>();
  const path: { entry: Entry; state: State }[] = [];
  let answersLeft = history.filter(({ returned }) => returned !== null).length;
  let state = model.initial;
  let entry = head.next;
  while (answersLeft > 0) {
    const observed = entry?.isCall === true ? history[entry.index] : undefined;
    if (entry !== null && observed !== undefined) {
      const after = model.step(state, observed.operation);
      const doneAfter = done | (1n << BigInt(entry.index));
      if (after !== undefined && isNew(tried, `${doneAfter.toString(36)}|${model.key(after)}`)) {
        path.push({ entry, state });
        done = doneAfter;
        if (observed.returned !== null) answersLeft--;
        state = after;
        lift(entry);
        entry = head.next;
      } else {
        entry = entry.next;
      }
      continue;
    }
    // An operation returned here that found no place before: one of those before it stands in the wrong place.
    const last = path.pop();
    if (last === undefined) return false;
    done &= ~(1n << BigInt(last.entry.index));
    if (history[last.entry.index]?.returned !== null) answersLeft++;
    state = last.state;
    unlift(last.entry);
    entry = last.entry.next;
  }
  return true;
}

function isNew(tried: Set<string>, key: string): boolean {
  if (tried.has(key)) return false;
  tried.add(key);
  return true;
}

/** Calls and returns in the order of time, behind a head that stands for none. */
function entriesOf<Op>(history: readonly Observed<Op>[]): Entry {
  const moments = history.flatMap(({ called, returned }, index) => [
    { at: called, index, isCall: true },
    { at: returned ?? Number.POSITIVE_INFINITY, index, isCall: false },
  ]);
  // Two operations without an answer share their last moment, so the difference may be none at all.
  moments.sort((left, right) => (left.at === right.at ? left.index - right.index : left.at - right.at));
  const head: Entry = { index: -1, isCall: false, next: null, previous: null, match: null };
  const calls = new Map<number, Entry>();
  let last = head;
  for (const { index, isCall } of moments) {
    const entry: Entry = { index, isCall, next: null, previous: last, match: calls.get(index) ?? null };
    if (isCall) calls.set(index, entry);
    else if (entry.match !== null) entry.match.match = entry;
    last.next = entry;
    last = entry;
  }
  return head;
}

/** Takes a call and its return out of the list. */
function lift(call: Entry): void {
  for (const entry of [call, call.match]) {
    if (entry?.previous) entry.previous.next = entry.next;
    if (entry?.next) entry.next.previous = entry.previous;
  }
}

/** Puts them back, in the opposite order. */
function unlift(call: Entry): void {
  for (const entry of [call.match, call]) {
    if (entry?.previous) entry.previous.next = entry;
    if (entry?.next) entry.next.previous = entry;
  }
}
