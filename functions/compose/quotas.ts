import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Settings, table } from '../config/table.ts';
import type { Log } from '../kernel/log.ts';
import type { QuotaLimit } from '../kernel/quota.ts';
import type { World } from '../kernel/world.ts';
import { Meter } from '../quotas/meter.ts';
import { meteredStore } from '../quotas/metered-store.ts';
import { USAGE_SHARDS } from '../quotas/usage-store.ts';
import type { ByteOwner, RecordStore } from '../store/port.ts';
import { databasePath } from './database-path.ts';

/**
 * The most bytes of the disk that a counted byte takes: from 1.0, in documents of 500 kB and objects, through 1.9 in documents of 200
 * bytes, to 2.6 in small runs and in records with vectors, where indexes weigh most. A mix takes less.
 * @testonly
 */
export const DISK_BYTES_PER_COUNTED = 2.5;

/** The store within the quotas of its owners. Closing it writes the counts that are still in memory. */
export function boundedStore(
  store: RecordStore,
  settings: Settings,
  world: Pick<World, 'clock' | 'timers' | 'random'>,
  log: Log,
): RecordStore {
  const [byte = 0] = world.random.bytes(1);
  const meter = new Meter({
    store: () => Promise.resolve(store),
    world,
    shard: byte % USAGE_SHARDS,
    limitOf: limitsOf(settings),
    bytesPerMinute: settings.server.writeBytesPerMinute,
    // A count that could not be written stays in memory and is written later.
    onFailure: () => {},
    // Owner names come from requests, and log lines never hold request values: `svc usage` lists them.
    onNearLimit: () => log({ severity: 'WARNING', message: 'An owner has stored 80 % of what it may' }),
  });
  const close = store.close.bind(store);
  store.close = async () => {
    await meter.close().catch(() => {});
    await close();
  };
  return meteredStore(store, meter);
}

/** How much each owner may store. */
export function limitsOf(settings: Settings): (owner: ByteOwner) => QuotaLimit {
  const { quotas, canonicalStore } = settings;
  const folder = canonicalStore.provider === 'sqlite' ? dirname(databasePath(settings)) : null;
  const ofKind = {
    tenants: { bytes: quotas.tenantBytesMax, setting: table.quotas.tenantBytesMax.key },
    spaces: { bytes: quotas.spaceBytesMax, setting: table.quotas.spaceBytesMax.key },
  };
  const share = {
    bytes: bytesOfDisk(folder, quotas.diskSharePercent),
    setting: table.quotas.diskSharePercent.key,
  };
  return ({ kind }) => (share.bytes < ofKind[kind].bytes ? share : ofKind[kind]);
}

/** The counted bytes that fill this share of the disk; unlimited at 100 percent, without a local disk, or if its size is unknown. */
function bytesOfDisk(folder: string | null, percent: number): number {
  if (folder === null || percent === 100) return Infinity;
  try {
    const { bsize, blocks } = statfsSync(folder);
    return blocks > 0 ? Math.floor((blocks * bsize * percent) / 100 / DISK_BYTES_PER_COUNTED) : Infinity;
  } catch {
    return Infinity;
  }
}

export { USAGE } from '../quotas/usage-store.ts';
