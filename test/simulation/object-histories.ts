import type { Observation } from './history.ts';
import type { Observed } from './linearizability.ts';
import type { DocumentOp, EventOp, FenceOp } from './object-models.ts';

export type Histories<Op> = Map<string, Observed<Op>[]>;

/** The histories of single objects, taken out of what all clients saw. Calls that tell nothing of an object are left out. */
export interface ObjectHistories {
  readonly documents: Histories<DocumentOp>;
  readonly fences: Histories<FenceOp>;
  readonly events: Histories<EventOp>;
}

export function add<Op>(
  histories: Histories<Op>,
  name: string,
  operation: Op,
  { called, returned }: Pick<Observation, 'called' | 'returned'>,
): void {
  const list = histories.get(name) ?? [];
  histories.set(name, list);
  list.push({ operation, called, returned });
}
