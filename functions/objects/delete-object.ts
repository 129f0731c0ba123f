import { spaceScope } from '../collections/store-collections.ts';
import type { Conditions } from '../kernel/conditions.ts';
import { decisionTime } from '../kernel/world.ts';
import { leftoverKey, newTicket, settleTicket } from './leftovers.ts';
import type { ObjectParts } from './parts.ts';
import { checkCondition } from './rules/condition.ts';
import type { ObjectPlace } from './rules/object-name.ts';
import { infoIn, lostWith, objectKey } from './stored-object.ts';

/** Removes an object; without effect if it does not exist, unless the condition requires it. Throws `precondition_failed`. */
export async function deleteObject(
  parts: ObjectParts,
  space: string,
  place: ObjectPlace,
  condition: Conditions,
): Promise<void> {
  const { store, world } = parts.records;
  const key = objectKey(place);
  const ticket = newTicket(world);
  const keys = [{ key }, { key: leftoverKey(ticket), expectAbsent: true }];
  const arrivedAt = world.clock.now();
  for (;;) {
    const request = { gate: key, keys, frees: true };
    const isDone = await (await store()).transact(spaceScope(space), request, (found) => {
      const stored = found.get(key);
      checkCondition(stored === undefined ? null : infoIn(stored.head).etag, condition);
      if (stored === undefined) return { writes: [], result: true };
      const lost = lostWith(stored.head);
      if (lost !== null && !parts.marks.isFresh(space)) return { writes: [], result: false };
      const now = decisionTime(world.clock, arrivedAt);
      const settled = settleTicket(ticket, { isThere: false, lost, now });
      return { writes: [{ remove: key }, ...settled], result: true };
    });
    if (isDone) return;
    await parts.marks.ensure(space);
  }
}
