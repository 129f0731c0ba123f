import type { ServerReadinessCheck, ServerReadinessReport } from '../../../contracts/generated/models.ts';
import { checksOf, examine } from '../../embeddings/rules/doctor.ts';
import type { Handler } from '../../http/handler.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { formatUtc } from '../../kernel/timestamp.ts';
import { countsOf } from '../../providers/rules/provider-counts.ts';
import { failureWithin, ping } from './attempt.ts';
import type { ServerDependencies } from './dependencies.ts';
import { healthStatus } from './health.ts';
import { objectsCheck } from './objects-check.ts';
import { type ProvidersChecked, providersCheck } from './providers-check.ts';
import { recordsCheck } from './records-check.ts';

/** Checks the configured parts. `ready` is the outcome. The status is 200 in any case, unless the caller asks for 503. */
export function getReadiness(dependencies: ServerDependencies): Handler<'getReadiness'> {
  const storage = sharedCheck(() => storageCheck(dependencies));
  const records = recordsCheck(dependencies);
  const objects = objectsCheck(dependencies);
  const providers = providersCheck(dependencies);
  return async ({ query: { status = false } }, { now }) => {
    const [stores, checked] = await Promise.all([
      Promise.all([storage(), records(now), objects(now)]),
      providers(now),
    ]);
    const checks = [
      ...stores.flat(),
      ...damageChecks(dependencies),
      ...executionChecks(dependencies),
      ...embeddingChecks(dependencies),
      ...checked.checks,
      ...securityChecks(dependencies),
    ];
    const report = readinessReport(dependencies, checks, checked.providers, now);
    if (status && !report.ready)
      throw new ServiceError('unavailable', [report.summary, ...report.blockers].join(' '));
    return { status: 200, body: report };
  };
}

/** Pure: the report over the outcomes of all checks. */
function readinessReport(
  dependencies: ServerDependencies,
  checks: readonly ServerReadinessCheck[],
  providers: ProvidersChecked['providers'],
  now: number,
): ServerReadinessReport {
  const { embedding = null } = dependencies;
  const messagesOf = (status: string) =>
    checks.filter((check) => check.status === status).map((check) => check.message);
  const blockers = messagesOf('failed');
  const warnings = messagesOf('warning');
  const status = blockers.length > 0 ? 'failed' : warnings.length > 0 ? 'warning' : 'ok';
  return {
    status,
    ready: status !== 'failed',
    summary: summaryOf(blockers.length, warnings.length),
    checkedAt: formatUtc(now),
    health: healthStatus(dependencies, now),
    checks: [...checks],
    blockers,
    warnings,
    embedding: embedding === null ? null : { ...examine(embedding, now) },
    providers: countsOf(providers),
    operationalLimits: {
      ...dependencies.providers?.limits,
      ...(dependencies.canonical === null
        ? {}
        : { canonicalRateLimit: { ...dependencies.canonical.rateLimit } }),
    },
  };
}

function summaryOf(blockers: number, warnings: number): string {
  if (blockers > 0) return `Not ready: ${counted(blockers, 'check')} failed.`;
  return warnings > 0 ? `Ready, with ${counted(warnings, 'warning')}.` : 'Ready.';
}

function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}

async function storageCheck({
  world,
  canonical,
  development,
}: ServerDependencies): Promise<ServerReadinessCheck> {
  const id = 'storage.canonical';
  if (canonical === null) {
    return { id, status: 'ok', message: 'The canonical store is disabled.', details: { enabled: false } };
  }
  const details = { enabled: true, store: canonical.provider };
  const failure = await failureWithin(world.timers, () => ping(canonical.store));
  if (failure === undefined) return { id, status: 'ok', message: 'The canonical store answers.', details };
  const shownDetails = development ? { ...details, reason: failure.reason.slice(0, 1024) } : details;
  const message = failure.full
    ? 'The canonical store has no room for new data. It answers reads.'
    : 'The canonical store does not answer.';
  return { id, status: 'failed', message, details: shownDetails };
}

/** Damage that reads, writes or upkeep have found since the start. The check makes no scan of its own. */
function damageChecks({ damage: { met } }: ServerDependencies): ServerReadinessCheck[] {
  if (met === null) return [];
  const message =
    'Stored data is damaged: the log names what was met. Restore it from a copy, then restart the service.';
  return [{ id: 'storage.damage', status: 'failed', message, details: {} }];
}

function executionChecks({ execution }: ServerDependencies): ServerReadinessCheck[] {
  if (execution === undefined) return [];
  const id = 'execution.runtime';
  const { enabled, unserved, adapter } = execution;
  if (!enabled)
    return [{ id, status: 'ok', message: 'The execution runtime is disabled.', details: { enabled } }];
  const details = { enabled, adapter, served: unserved === null };
  return [
    unserved === null
      ? { id, status: 'ok', message: 'Runs are served.', details }
      : { id, status: 'warning', message: unserved, details },
  ];
}

function embeddingChecks({ embedding = null }: ServerDependencies): readonly ServerReadinessCheck[] {
  return embedding === null ? [] : checksOf(embedding);
}

function securityChecks({ apiKey, canonical }: ServerDependencies): ServerReadinessCheck[] {
  const checks: ServerReadinessCheck[] = [
    apiKey.required
      ? {
          id: 'security.api_key',
          status: 'ok',
          message: 'An API key is required.',
          details: { header: apiKey.header },
        }
      : { id: 'security.api_key', status: 'warning', message: 'No API key is required.', details: {} },
  ];
  if (canonical === null) return checks;
  checks.push(
    canonical.open
      ? {
          id: 'security.canonical_access',
          status: 'warning',
          message: 'The canonical store is open to every caller of the service.',
          details: {},
        }
      : { id: 'security.canonical_access', status: 'ok', message: 'Callers must be known.', details: {} },
    {
      id: 'security.rate_limit',
      status: 'ok',
      message: 'Canonical requests are limited for each source address.',
      details: { ...canonical.rateLimit },
    },
  );
  return checks;
}

/** Concurrent callers share one check, so that anonymous callers cannot overload the database. */
function sharedCheck<T>(check: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= check().finally(() => {
      running = undefined;
    });
    return running;
  };
}
