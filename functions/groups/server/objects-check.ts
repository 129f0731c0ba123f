import type { ServerReadinessCheck } from '../../../contracts/generated/models.ts';
import type { PayloadPlace } from '../../collections/payload-place.ts';
import { StoreError } from '../../store/port.ts';
import { failureWithin } from './attempt.ts';
import type { ServerDependencies } from './dependencies.ts';

const PROBE = Buffer.from('svc readiness probe');

type CheckParts = Pick<ServerDependencies, 'world' | 'development' | 'objects'>;

/**
 * The check `storage.objects`: it writes, reads and deletes a probe where the bytes of large objects lie; no check where the service has
 * no operations on objects. All readers of an interval share one probe, since they are anonymous and it writes.
 */
export function objectsCheck(
  dependencies: CheckParts,
): (now: number) => Promise<readonly ServerReadinessCheck[]> {
  const { objects } = dependencies;
  let kept: { readonly at: number; readonly check: Promise<ServerReadinessCheck> } | null = null;
  // A place that hangs is not asked again beside the call that hangs.
  let isUnderWay = false;
  return async (now) => {
    if (objects === undefined) return [];
    if (kept === null || (!isUnderWay && Math.abs(now - kept.at) >= objects.everyMs)) {
      isUnderWay = true;
      const check = checkOf(dependencies, objects, () => {
        isUnderWay = false;
      });
      kept = { at: now, check };
    }
    return [await kept.check];
  };
}

async function checkOf(
  { world, development }: CheckParts,
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
  await place.put(reference, PROBE);
  try {
    const found = await place.get(reference, PROBE.byteLength);
    if (found === null || !PROBE.equals(found))
      throw new StoreError('corrupt', 'the probe was not read as it was written');
  } finally {
    await place.remove(reference);
  }
}
