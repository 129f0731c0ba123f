import type { ServerReadinessCheck } from '../../../contracts/generated/models.ts';
import type { PayloadPlace } from '../../collections/payload-place.ts';
import { isDamage } from '../../store/damage.ts';
import { StoreError } from '../../store/port.ts';
import { failureWithin } from './attempt.ts';
import type { ServerDependencies } from './dependencies.ts';

const PROBE = Buffer.from('svc readiness probe');
/** A call that never settles expires, so that the check can see a recovered store without a restart. */
const EXPIRY_INTERVALS = 10;
/** Retries, because another process may use the same name for its probe and remove it. */
const TRIES_MAX = 3;

/**
 * The check `storage.objects`: writes, reads and deletes a probe in the store of large objects. No check if the service has no
 * operations on objects. All readers of an interval share one probe, because they are anonymous and it writes.
 */
export function objectsCheck(
  dependencies: Pick<ServerDependencies, 'world' | 'development' | 'objects'>,
): (now: number) => Promise<readonly ServerReadinessCheck[]> {
  const { objects } = dependencies;
  let kept: { readonly at: number; readonly check: Promise<ServerReadinessCheck> } | null = null;
  // While a call hangs, no second call is made until the first has expired.
  let underWay: { readonly since: number } | null = null;
  return async (now) => {
    if (objects === undefined) return [];
    const { everyMs } = objects;
    const isBusy = underWay !== null && Math.abs(now - underWay.since) < EXPIRY_INTERVALS * everyMs;
    if (kept === null || (!isBusy && Math.abs(now - kept.at) >= everyMs)) {
      const attempt = { since: now };
      underWay = attempt;
      const check = checkOf(dependencies, objects, () => {
        if (underWay === attempt) underWay = null;
      });
      kept = { at: now, check };
    }
    return [await kept.check];
  };
}

async function checkOf(
  { world, development }: Pick<ServerDependencies, 'world' | 'development'>,
  { store, place, reference }: NonNullable<ServerDependencies['objects']>,
  whenOver: () => void,
): Promise<ServerReadinessCheck> {
  const id = 'storage.objects';
  const details = { enabled: true, store, probe: 'write_read_delete' };
  const failure = await failureWithin(world.timers, () => probe(place, reference).finally(whenOver));
  if (failure === undefined)
    return { id, status: 'ok', message: 'The store of objects writes, reads and deletes.', details };
  const message = failure.full
    ? 'The store of objects has no room for new bytes. It answers reads.'
    : 'The store of objects does not write, read and delete.';
  const shown = development ? { ...details, reason: failure.reason.slice(0, 1024) } : details;
  return { id, status: 'failed', message, details: shown };
}

async function probe(open: () => Promise<PayloadPlace>, reference: string): Promise<void> {
  const place = await open();
  for (let tries = 1; ; tries += 1) {
    await putOver(place, reference);
    let found: Uint8Array | null;
    try {
      found = await read(place, reference);
    } catch (error) {
      // Report this error, even if the removal fails too.
      await place.remove(reference).catch(() => undefined);
      throw error;
    }
    if (found !== null) break;
    if (tries === TRIES_MAX) throw new StoreError('corrupt', 'the probe that was written is not there');
  }
  await place.remove(reference);
}

/** `null` if another process has removed the probe. */
async function read(place: PayloadPlace, reference: string): Promise<Uint8Array | null> {
  const found = await place.get(reference, PROBE.byteLength);
  if (found !== null && !PROBE.equals(found))
    throw new StoreError('corrupt', 'the probe was not read as it was written');
  return found;
}

/** Replaces a probe that a killed process has left. */
async function putOver(place: PayloadPlace, reference: string): Promise<void> {
  try {
    await place.put(reference, PROBE);
  } catch (error) {
    const isThere = await place.get(reference, PROBE.byteLength).then((found) => found !== null, isDamage);
    if (!isThere) throw error;
    await place.remove(reference);
    await place.put(reference, PROBE);
  }
}
