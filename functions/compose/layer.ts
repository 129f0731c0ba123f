import type { GroupParts } from './group.ts';

/** What a layer is made from. */
export type LayerParts = Pick<GroupParts, 'settings' | 'store' | 'world' | 'log' | 'layers'>;

/** The layers of one process by the functions that make them. */
export type Layers = Map<unknown, unknown>;

/**
 * A layer of which a process has one: the first group that asks for it makes it, and all others receive the same. So its
 * bounds and what it remembers hold for the process, not for each group.
 */
export function layer<Parts extends LayerParts, Made>(make: (parts: Parts) => Made): (parts: Parts) => Made {
  return (parts) => {
    const { layers } = parts;
    if (!layers.has(make)) layers.set(make, make(parts));
    // Only the line above sets it.
    return layers.get(make) as Made;
  };
}
