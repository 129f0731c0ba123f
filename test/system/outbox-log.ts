/**
 * The observations of consumers, each moment read from the one clock of the machine, checked against the promises of an outbox.
 */

interface LeaseSeen {
  readonly kind: 'lease';
  readonly eventId: string;
  readonly token: string;
  /** When the answer was received: from here on the consumer believes to hold the event. */
  readonly at: number;
  /** When the server said that it ends. */
  readonly expiresAt: number;
}

interface EndSeen {
  readonly kind: 'ack' | 'release';
  readonly eventId: string;
  readonly token: string;
  /** When the call was sent for the first time: from here on the consumer does not act on the event any more. */
  readonly at: number;
  readonly accepted: boolean;
}

export type Seen = LeaseSeen | EndSeen;

/** The faults that a log may show. */
export interface Fault {
  readonly what: 'never acknowledged' | 'acknowledged by two' | 'held by two' | 'unknown event';
  readonly eventId: string;
}

/**
 * No tolerance is given: servers and consumers read one clock, which does not go back. A server that gives an event away
 * has read that the lease before is over, or has taken its end from a call that was sent earlier; the answer is received
 * later still.
 */
export function faultsOf(log: readonly Seen[], eventIds: readonly string[]): Fault[] {
  const byEvent = new Map<string, Seen[]>(eventIds.map((id) => [id, []]));
  const faults: Fault[] = [];
  for (const seen of log) {
    const list = byEvent.get(seen.eventId);
    if (list === undefined) faults.push({ what: 'unknown event', eventId: seen.eventId });
    else list.push(seen);
  }
  for (const [eventId, list] of byEvent) {
    const tokens = new Set(
      list.filter((seen) => seen.kind === 'ack' && seen.accepted).map(({ token }) => token),
    );
    if (tokens.size === 0) faults.push({ what: 'never acknowledged', eventId });
    if (tokens.size > 1) faults.push({ what: 'acknowledged by two', eventId });
    if (overlaps(list)) faults.push({ what: 'held by two', eventId });
  }
  return faults;
}

/** Whether two tokens of one event were held at one moment, each as its consumer believed. */
function overlaps(list: readonly Seen[]): boolean {
  const holds = list
    .filter((seen) => seen.kind === 'lease')
    .map(({ token, at, expiresAt }) => {
      const ends = list.filter((seen) => seen.kind !== 'lease' && seen.token === token).map((end) => end.at);
      return { from: at, to: Math.min(expiresAt, ...ends) };
    })
    // A lease that was over before its answer came was never held.
    .filter(({ from, to }) => from < to)
    .sort((left, right) => left.from - right.from);
  return holds.some(({ from }, n) => holds.slice(0, n).some((before) => from < before.to));
}
