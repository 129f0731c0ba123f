import type { JsonValue } from '../../generated/models.ts';
import type { Entry } from './entries.ts';

/** Which of the queued waits the run makes next. A run has one wait. */

export interface QueuedWait {
  readonly kind: 'event' | 'timer' | 'run';
  /** Its name at the server. */
  readonly name: string;
  /** The child run. */
  readonly id?: string;
  /** The moment of the timer, or the deadline of the event; `null` without one. Of a run: when to ask for its end. */
  readonly dueAt: number | null;
  /** The journal has `dueAt`, so that it is the same in each execution. */
  readonly isPlanned: boolean;
}

/** `null`: the timer, or the end of the time for an event. The payload of a run is its outcome. */
export type WaitEnd = { readonly payload: JsonValue } | null;

export interface WaitRequest extends Omit<QueuedWait, 'isPlanned'> {
  /** The open entry of the wait, where the journal has none; `null` for a wait that needs none. */
  readonly open: Entry | null;
  /** The entry of the outcome; `null` for a wait that needs none. */
  readonly settled: (end: WaitEnd) => Entry | null;
}

/** The wait needs no entry: what follows writes its own. */
export const noEntry = (): null => null;

export interface WaitChoice<W extends QueuedWait> {
  /** Several events, or one run, or one timer. */
  readonly waits: readonly [W, ...W[]];
  readonly until: number | null;
}

/**
 * The first events of the queue, else the first run, until the earliest moment of the others; else the earliest timer.
 * `eventsMax` is how many events one wait can be for.
 */
export function chooseWait<W extends QueuedWait>(
  queue: readonly [W, ...W[]],
  eventsMax: number,
): WaitChoice<W> {
  const events = queue.filter(({ kind }) => kind === 'event').slice(0, eventsMax);
  const run = queue.find(({ kind }) => kind === 'run');
  const [first = run ?? earliestOf(queue) ?? queue[0], ...more] = events;
  return { waits: [first, ...more], until: othersOf(queue, first)?.dueAt ?? null };
}

/** The wait that is due first, beside the one for a run: its moment is only that of a question. */
export function othersOf<W extends QueuedWait>(queue: readonly W[], chosen: W): W | undefined {
  return earliestOf(queue.filter((each) => each !== chosen || each.kind !== 'run'));
}

/** The wait that is due first; `undefined` where none is ever due. */
function earliestOf<W extends QueuedWait>(queue: readonly W[]): W | undefined {
  let earliest: W | undefined;
  for (const wait of queue) {
    if (wait.dueAt === null) continue;
    if (earliest === undefined || wait.dueAt < (earliest.dueAt ?? Infinity)) earliest = wait;
  }
  return earliest;
}

/** Clocks of a worker and a server differ by less. */
const SKEW_MS = 60_000;

/**
 * Whether a wait for an event that ended as timed out is the end of that event. An earlier execution may have waited
 * only until the moment of another wait. Then the event has a planned moment, and it lies ahead.
 */
export function isTimeout({ isPlanned, dueAt }: QueuedWait, now: number): boolean {
  return !isPlanned || (dueAt !== null && dueAt <= now + SKEW_MS);
}
