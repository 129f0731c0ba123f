import type { Outcome } from './canonical-calls.ts';

/** One call as its client saw it. */
export interface Observation {
  readonly operation: string;
  readonly params: object;
  readonly body: object | null;
  /** The time that the call was handed; 0 where its instance has a clock of its own. */
  readonly now: number;
  readonly called: number;
  returned: number | null;
  outcome: Outcome;
}

/** The observations of all clients, in the order of a counter that they share: the raw matter of the linearizability check. */
export class History {
  readonly observations: Observation[] = [];
  #moment = 0;

  begin(operation: string, params: object, body: object | null, now = 0): (outcome: Outcome) => void {
    const observation: Observation = {
      operation,
      params,
      body,
      now,
      called: ++this.#moment,
      returned: null,
      outcome: { kind: 'unknown' },
    };
    this.observations.push(observation);
    return (outcome) => {
      observation.outcome = outcome;
      // A call without an answer may still take effect later, so it has no end.
      if (outcome.kind !== 'unknown') observation.returned = ++this.#moment;
    };
  }
}
