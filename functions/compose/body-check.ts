import { lazy } from '../kernel/lazy.ts';
import type { Upkeep } from '../runs/maintenance/automatic-upkeep.ts';
import type { LayerParts } from './layer.ts';

/** The upkeep that reads stored bodies again and holds them against their hashes. Its code is loaded by the first round. */
export function bodyCheck(parts: LayerParts): Upkeep {
  const { store, world, log, damage } = parts;
  const made = lazy(
    async () => {
      const [{ BodyCheck }, { hashedBodies }, { BODY_CHECK, EXECUTION_SCOPE }] = await Promise.all([
        import('../store/check-bodies.ts'),
        import('./hashed-bodies.ts'),
        import('../runs/records.ts'),
      ]);
      return new BodyCheck({
        store: store.get,
        world,
        log,
        saw: damage.saw,
        bodies: () => hashedBodies(parts),
        at: { scope: EXECUTION_SCOPE, key: BODY_CHECK },
      });
    },
    () => Promise.resolve(),
  );
  return async (isOver) => {
    await (await made.get()).share(isOver);
    // Nothing is left to do at once: the next share is due in a minute.
    return {};
  };
}
