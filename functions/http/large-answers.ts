import { setImmediate as nextTurn } from 'node:timers';

/**
 * Large answers are read and written in one go, each in some 10 ms. Many that are due at once would keep every other caller
 * waiting, so they are made one by one: between two of them connections are served, and then the next caller has its turn.
 */
export interface LargeAnswers {
  /** A promise to await before the work on a request continues; `null`: continue at once. */
  readonly turnOf: (caller: string, operation: string) => Promise<void> | null;
  /** Counts bytes that this turn of the event loop has read or written for an answer of the operation. */
  readonly spent: (operation: string, bytes: number) => void;
}

/** After this many bytes, a turn of the event loop makes no further answer. */
const turnBytes = 1024 * 1024;
/** Turns between two large answers: the event loop accepts one new connection in each. They take about a millisecond. */
const turnsBetween = 64;

export function createLargeAnswers(later: (callback: () => void) => unknown = nextTurn): LargeAnswers {
  // Callers in the order of their turns, each with its waiting requests.
  const waiting = new Map<string, (() => void)[]>();
  // Only operations that once had a large answer wait: a small read of the same caller does not.
  const operations = new Set<string>();
  /** By operation, in this turn. */
  const spent = new Map<string, number>();
  let bytes = 0;
  let turnsLeft = 0;
  /** From a large answer on, until the turns behind it are over. */
  let isPaused = false;
  const schedule = (turns: number): void => {
    if (turnsLeft === 0) later(next);
    turnsLeft = Math.max(turnsLeft, turns);
  };
  const next = (): void => {
    // Small answers of many turns together are no large one: they neither prolong the pause nor make their operation wait.
    bytes = 0;
    spent.clear();
    turnsLeft -= 1;
    if (turnsLeft > 0) {
      later(next);
      return;
    }
    isPaused = false;
    const [first] = waiting;
    if (first === undefined) return;
    const [caller, [goOn, ...rest]] = first;
    waiting.delete(caller);
    if (rest.length > 0) waiting.set(caller, rest);
    if (waiting.size > 0) schedule(1);
    goOn?.();
  };
  return {
    turnOf(caller, operation) {
      if (!operations.has(operation) || (!isPaused && waiting.size === 0)) return null;
      schedule(1);
      return new Promise((resolve) => {
        waiting.set(caller, [...(waiting.get(caller) ?? []), resolve]);
      });
    },
    spent(operation, more) {
      const own = (spent.get(operation) ?? 0) + more;
      spent.set(operation, own);
      bytes += more;
      isPaused ||= bytes >= turnBytes;
      schedule(bytes < turnBytes ? 1 : turnsBetween);
      if (own >= turnBytes) operations.add(operation);
    },
  };
}
