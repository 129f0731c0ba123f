import { ReadLanes } from '../collections/read-lanes.ts';
import { type LayerParts, layer } from './layer.ts';

/** The places for long reads of collections, graphs, objects and traces. */
export const readLanesOf = layer(lanes);

/**
 * The places for evaluations without a job. They are separate from those for long reads: an evaluation may wait for a
 * provider, and its retrievals take places for their own reads.
 */
export const evaluationLanesOf = layer((parts) => lanes(parts));

function lanes({ settings, world }: LayerParts): ReadLanes {
  const { longReadsMax } = settings.records;
  return new ReadLanes({ timers: world.timers, longReadsMax });
}
