import type { ProviderDoctorCheck, ProviderDoctorResult } from '../../../contracts/generated/models.ts';
import { formatUtc } from '../../kernel/timestamp.ts';
import { type ReadinessFacts, readinessItem } from './readiness.ts';
import type { ProviderTarget } from './target.ts';

/**
 * The state of a provider, from the settings and what is stored: no provider is called, because each call of a paid one costs.
 * `checks` are those of the target itself. `now`: milliseconds since 1970.
 */
export function examineTarget(
  target: ProviderTarget,
  checks: readonly ProviderDoctorCheck[],
  facts: Omit<ReadinessFacts, 'hasFailedCheck'>,
  now: number,
): ProviderDoctorResult {
  const all = [...targetChecks(target), ...checks];
  const hasFailedCheck = all.some(({ status }) => status === 'failed');
  all.push(modelCatalog(target));
  for (const capability of target.capabilities)
    all.push(readinessCheck(readinessItem(target, capability, { ...facts, hasFailedCheck })));
  const status = worstOf(all);
  const { id, kind, isLocal, configHash } = target;
  return {
    provider: id,
    status,
    summary: summaries[status],
    generatedAt: formatUtc(now),
    checks: all,
    metadata: { kind, local: isLocal, configHash },
  };
}

/** The checks that need only the settings. */
function targetChecks(target: ProviderTarget): readonly ProviderDoctorCheck[] {
  const { isLocal, isEnabled, modelId } = target;
  const availability: ProviderDoctorCheck = isLocal
    ? {
        id: 'local.availability',
        status: 'ok',
        message: 'The provider is part of the service.',
        details: { local: true },
      }
    : {
        id: 'remote.availability',
        status: isEnabled ? 'ok' : 'failed',
        message: isEnabled
          ? 'The settings let the service call the provider.'
          : 'The settings do not let the service call the provider.',
        details: { local: false, enabled: isEnabled },
      };
  const binding: ProviderDoctorCheck = {
    id: 'model.binding',
    status: 'ok',
    message: `Runs use the model ${modelId}.`,
    details: { modelId },
  };
  return [availability, binding];
}

function modelCatalog({ modelId }: ProviderTarget): ProviderDoctorCheck {
  return {
    id: 'model.catalog',
    status: 'ok',
    message: 'The settings name one model.',
    details: { count: 1, defaultModelId: modelId },
  };
}

function readinessCheck({
  capability,
  callable,
  ready,
  reason,
  qualificationStatus,
}: ReturnType<typeof readinessItem>): ProviderDoctorCheck {
  const status = ready ? 'ok' : callable ? 'warning' : 'failed';
  return {
    id: `readiness.${capability}`,
    status,
    message: messages[status],
    details: { callable, ready, reason, qualificationStatus },
  };
}

const messages = {
  ok: 'The capability works: it was tried with these settings.',
  warning: 'The capability can be called; no trial with these settings has succeeded.',
  failed: 'The capability cannot be called.',
} as const;

const summaries = {
  ok: 'The provider can be used.',
  warning: 'The provider can be used, with a warning.',
  failed: 'The provider cannot be used.',
} as const;

function worstOf(checks: readonly ProviderDoctorCheck[]): keyof typeof summaries {
  if (checks.some(({ status }) => status === 'failed')) return 'failed';
  return checks.some(({ status }) => status === 'warning') ? 'warning' : 'ok';
}
