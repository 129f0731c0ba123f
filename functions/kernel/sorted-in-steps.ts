const RUN_LENGTH = 512;
const STEP_LENGTH = 512;

/** Sorts in steps, each of which takes less than a millisecond: for `inTurns`. Equal items keep their order. */
export function* sortedInSteps<T>(
  items: readonly T[],
  compare: (left: T, right: T) => number,
): Generator<void, T[]> {
  let runs: T[][] = [];
  for (let at = 0; at < items.length; at += RUN_LENGTH) {
    runs.push(items.slice(at, at + RUN_LENGTH).sort(compare));
    yield;
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let at = 0; at < runs.length; at += 2)
      merged.push(yield* mergedRuns(runs[at], runs[at + 1], compare));
    runs = merged;
  }
  return runs[0] ?? [];
}

/** Maps the items in order, a fixed number in each step. */
export function* mappedInSteps<T, R>(
  items: readonly T[],
  map: (item: T) => R,
  stepLength = STEP_LENGTH,
): Generator<void, R[]> {
  const mapped: R[] = [];
  for (const item of items) {
    mapped.push(map(item));
    if (mapped.length % stepLength === 0) yield;
  }
  return mapped;
}

function* mergedRuns<T>(
  left: readonly T[] = [],
  right: readonly T[] = [],
  compare: (left: T, right: T) => number,
): Generator<void, T[]> {
  const all: T[] = [];
  for (let l = 0, r = 0; l < left.length || r < right.length; ) {
    const isLeft = r >= right.length || (l < left.length && compare(left[l] as T, right[r] as T) <= 0);
    all.push((isLeft ? left[l++] : right[r++]) as T);
    if (all.length % STEP_LENGTH === 0) yield;
  }
  return all;
}
