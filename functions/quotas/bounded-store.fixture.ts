import { MemoryDatabase } from '../../test/simulation/memory-database.ts';
import { MemoryStore } from '../../test/simulation/memory-store.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import type { World } from '../kernel/world.ts';
import type { ByteOwner } from '../store/port.ts';
import { Meter } from './meter.ts';
import { meteredStore } from './metered-store.ts';

/** A store with a quota of owners that the test sets; at first unlimited. */
export function boundedMemory(world: Pick<World, 'clock' | 'timers'> = new ManualWorld()) {
  const bound = { bytes: Infinity, bytesPerMinute: Infinity };
  const store = new MemoryStore(new MemoryDatabase());
  const meter = new Meter({
    store: () => Promise.resolve(store),
    world,
    shard: 0,
    limitOf: () => ({ bytes: bound.bytes, setting: 'Quotas:TenantBytesMax' }),
    get bytesPerMinute() {
      return bound.bytesPerMinute;
    },
    onFailure: (error) => {
      throw error;
    },
    onNearLimit: () => {},
  });
  meteredStore(store, meter);
  const used = async (owner: ByteOwner): Promise<number> => {
    const { data, runs } = await meter.useOf(owner);
    return data + runs;
  };
  return { store, meter, bound, used };
}
