import { headsOf } from './candidates.ts';
import type { RecordParts } from './parts.ts';
import { ReadBudget } from './read-budget.ts';
import { attemptsOf, type ReadCall } from './read-call.ts';
import type { ReadLane } from './read-lanes.ts';
import { collectionAt } from './read-policy.ts';
import { Inspection } from './rules/inspection.ts';
import { spaceScope } from './store-collections.ts';
import type { StoredCollection } from './stored-collection.ts';
import { factsIn } from './stored-content.ts';

const ADVICE = 'An inspection reads every record: export the collection in parts and count there.';

export interface InspectedCollection {
  readonly collection: StoredCollection;
  readonly inspection: Inspection;
}

/** Counts over all records of a collection at one moment. Throws the refusal of an absent or a too large collection. */
export async function inspectCollection(
  { store, limits, world, lanes }: RecordParts,
  space: string,
  name: string,
  anomaliesMax: number,
  call: ReadCall = {},
): Promise<InspectedCollection> {
  const opened = await store();
  const attempt = attemptsOf(call);
  const readAll = (lane: ReadLane) =>
    opened.snapshot(spaceScope(space), async (moment) => {
      const collection = await collectionAt(moment, name);
      const { incarnation, policy } = collection;
      const budget = new ReadBudget(limits.readsPerCallMax, ADVICE, lane);
      const reader = { moment, incarnation, budget, turns: world.turns.of(space), bytes: attempt() };
      const inspection = new Inspection(policy, anomaliesMax);
      for await (const { head } of headsOf(reader)) inspection.add(factsIn(head));
      return { collection, inspection };
    });
  return lanes.run(space, readAll, call);
}
