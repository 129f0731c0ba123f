import type { GroupHandlers } from '../../http/handler.ts';
import { qualificationsOf } from '../../providers/qualifications.ts';
import { examineTarget } from '../../providers/rules/doctor.ts';
import { currentQualification, qualificationView } from '../../providers/rules/qualification.ts';
import { readinessOf } from '../../providers/rules/readiness.ts';
import { operationalLimits } from '../../providers/rules/run-limits.ts';
import type { ProviderTarget } from '../../providers/rules/target.ts';
import type { ProvidersDependencies } from './dependencies.ts';
import { knownProvider, targetsOf } from './known-provider.ts';

/** The state of providers from settings and stored facts. No operation here calls a provider, because calls cost money. */

type Handlers = GroupHandlers<'providers'>;

/** The targets in their order, each with its stored facts and its checks. */
async function factsOf(
  { providers, capabilities, authRequired }: ProvidersDependencies,
  targets: readonly ProviderTarget[],
) {
  const ids = targets.map(({ id }) => id);
  const [stored, checks] = await Promise.all([
    qualificationsOf(capabilities.store, ids),
    Promise.all(ids.map((id) => providers.checks(id))),
  ]);
  const limits = operationalLimits(capabilities.limits, authRequired);
  return targets.map((target, at) => ({
    target,
    checks: checks[at] ?? [],
    facts: { qualifications: stored[at] ?? [], authRequired, limits },
  }));
}

async function readiness(
  dependencies: ProvidersDependencies,
  targets: readonly ProviderTarget[],
  now: number,
) {
  const all = await factsOf(dependencies, targets);
  return readinessOf(
    all.map(({ target, checks, facts }) => ({
      target,
      facts: { ...facts, hasFailedCheck: checks.some(({ status }) => status === 'failed') },
    })),
    now,
  );
}

async function doctor(dependencies: ProvidersDependencies, targets: readonly ProviderTarget[], now: number) {
  const all = await factsOf(dependencies, targets);
  return all.map(({ target, checks, facts }) => examineTarget(target, checks, facts, now));
}

export function listProviderReadiness(
  dependencies: ProvidersDependencies,
): Handlers['listProviderReadiness'] {
  const targets = targetsOf(dependencies.providers);
  return async (_, { now }) => ({ status: 200, body: await readiness(dependencies, targets, now) });
}

export function getProviderReadiness(dependencies: ProvidersDependencies): Handlers['getProviderReadiness'] {
  return async ({ params: { provider } }, { now }) => {
    const { target } = knownProvider(dependencies.providers, provider);
    return { status: 200, body: await readiness(dependencies, [target], now) };
  };
}

export function listProviderDoctor(dependencies: ProvidersDependencies): Handlers['listProviderDoctor'] {
  const targets = targetsOf(dependencies.providers);
  return async (_, { now }) => ({ status: 200, body: await doctor(dependencies, targets, now) });
}

export function getProviderDoctor(dependencies: ProvidersDependencies): Handlers['getProviderDoctor'] {
  return async ({ params: { provider } }, { now }) => {
    const { target } = knownProvider(dependencies.providers, provider);
    const [result] = await doctor(dependencies, [target], now);
    if (result === undefined) throw new Error('no doctor has seen the provider');
    return { status: 200, body: result };
  };
}

export function listProviderQualifications({
  providers,
  capabilities,
}: ProvidersDependencies): Handlers['listProviderQualifications'] {
  return async ({ params: { provider } }) => {
    const { target } = knownProvider(providers, provider);
    const [stored = []] = await qualificationsOf(capabilities.store, [target.id]);
    const body = target.capabilities.map((each) =>
      qualificationView(target, each, currentQualification(target, each, stored)),
    );
    return { status: 200, body };
  };
}
