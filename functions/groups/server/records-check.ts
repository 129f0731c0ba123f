import type { ServerReadinessCheck } from '../../../contracts/generated/models.ts';
import type { ServerDependencies } from './dependencies.ts';
import { failureWithin } from './store-ping.ts';

/** Readers are anonymous: so long one answer of the database serves all of them. */
const KEPT_MS = 5_000;

type CheckParts = Pick<ServerDependencies, 'world' | 'development' | 'records'>;

/** The check `storage.records`; no check where the service has no operations on records. */
export function recordsCheck(
  dependencies: CheckParts,
): (now: number) => Promise<readonly ServerReadinessCheck[]> {
  const { records } = dependencies;
  let kept: { readonly at: number; readonly check: Promise<ServerReadinessCheck> } | null = null;
  return async (now) => {
    if (records === undefined) return [];
    if (kept === null || Math.abs(now - kept.at) >= KEPT_MS) {
      kept = { at: now, check: checkOf(dependencies, records) };
    }
    return [await kept.check];
  };
}

async function checkOf(
  { world, development }: CheckParts,
  { off, provider, store }: NonNullable<ServerDependencies['records']>,
): Promise<ServerReadinessCheck> {
  const id = 'storage.records';
  if (off !== null) {
    const message = `Collections and records are off: ${off}.`;
    return { id, status: 'ok', message, details: { enabled: false } };
  }
  const details = { enabled: true, store: provider };
  const failure = await failureWithin(world.timers, store);
  if (failure === undefined) return { id, status: 'ok', message: 'The store of records answers.', details };
  const message = failure.full
    ? 'The store of records has no room for new data. It answers reads.'
    : 'The store of records does not answer.';
  const shown = development ? { ...details, reason: failure.reason.slice(0, 1024) } : details;
  return { id, status: 'failed', message, details: shown };
}
