import type { ServerReadinessCheck } from '../../../contracts/generated/models.ts';
import { type Failure, failureWithin, ping } from './attempt.ts';
import type { ServerDependencies } from './dependencies.ts';

/** Time during which all readers, who are anonymous, share one answer of the database. */
const KEPT_MS = 5_000;

/** The checks `storage.records` and `storage.traces` of one store; none if the service has no operations on records. */
export function recordsCheck(
  dependencies: Pick<ServerDependencies, 'world' | 'development' | 'records'>,
): (now: number) => Promise<readonly ServerReadinessCheck[]> {
  const { records } = dependencies;
  let kept: { readonly at: number; readonly checks: Promise<readonly ServerReadinessCheck[]> } | null = null;
  return async (now) => {
    if (records === undefined) return [];
    if (kept === null || Math.abs(now - kept.at) >= KEPT_MS) {
      kept = { at: now, checks: checksOf(dependencies, records) };
    }
    return kept.checks;
  };
}

async function checksOf(
  { world, development }: Pick<ServerDependencies, 'world' | 'development'>,
  { off, provider, store }: NonNullable<ServerDependencies['records']>,
): Promise<readonly ServerReadinessCheck[]> {
  if (off !== null) {
    const message = `Collections and records are off: ${off}.`;
    return [{ id: 'storage.records', status: 'ok', message, details: { enabled: false } }];
  }
  const details = { enabled: true, store: provider };
  const failure = await failureWithin(world.timers, () => ping(store));
  const shown =
    development && failure !== undefined ? { ...details, reason: failure.reason.slice(0, 1024) } : details;
  return (['records', 'traces'] as const).map((content) => ({
    id: `storage.${content}`,
    status: failure === undefined ? 'ok' : 'failed',
    message: `The store of ${content} ${outcomeOf(failure)}`,
    details: shown,
  }));
}

function outcomeOf(failure: Failure | undefined): string {
  if (failure === undefined) return 'answers.';
  return failure.full ? 'has no room for new data. It answers reads.' : 'does not answer.';
}
