import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { examineTarget } from './doctor.ts';
import { capabilityMatrix } from './matrix.ts';
import { modelsOf, quotaOf, unknownModels, unknownQuota } from './models-and-quotas.ts';
import { descriptorOf, profileOf } from './profile.ts';
import {
  currentQualification,
  qualificationBy,
  type StoredQualification,
  withQualification,
} from './qualification.ts';
import { readinessItem, readinessOf } from './readiness.ts';
import { limitsWithJobs, operationalLimits, RUN_LIMITS } from './run-limits.ts';
import { localTargets, type ProviderTarget } from './target.ts';

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5);
const [ai, reranker] = localTargets as [ProviderTarget, ProviderTarget];
const limits = operationalLimits(RUN_LIMITS, true);
const remote: ProviderTarget = {
  ...ai,
  id: 'a-remote',
  kind: 'openai-compatible',
  isLocal: false,
  auth: 'api-key',
  capabilities: ['ai.chat'],
  modelId: 'small',
  isEnabled: false,
};
const validated: StoredQualification = {
  capability: 'ai.chat',
  configHash: ai.configHash,
  status: 'validated',
  at: NOW - 1_000,
  evidenceRefs: ['input:sha256:a'],
};
const factsWith = (qualifications: readonly StoredQualification[], hasFailedCheck = false) => ({
  qualifications,
  hasFailedCheck,
  authRequired: true,
  limits,
});

describe('the matrix', () => {
  const matrix = capabilityMatrix([reranker, ai, remote], limits, NOW);

  test('has the providers in the order of their ids, each with all capabilities', () => {
    expect(matrix.items.map(({ provider }) => provider)).toEqual(['a-remote', ai.id, reranker.id]);
    for (const { capabilities } of matrix.items)
      expect(Object.keys(capabilities)).toEqual(matrix.capabilityIds);
    expect(matrix.capabilityIds).toHaveLength(13);
    expect(matrix.failureClasses).toHaveLength(14);
  });

  test('lists the supported capabilities, and the reasons against the others', () => {
    const [disabled, whole] = matrix.items;
    expect(whole?.capabilities['ai.chat']).toMatchObject({ supported: true, operations: ['run'] });
    expect(whole?.capabilities['ai.embedding']).toMatchObject({
      supported: false,
      unsupportedFeatures: ['capability_not_advertised'],
    });
    expect(disabled?.capabilities['ai.chat']?.unsupportedFeatures).toContain(
      'provider_disabled_by_configuration',
    );
    expect(disabled?.capabilities['agent.job']?.unsupportedFeatures).toEqual([
      'capability_not_advertised',
      'provider_disabled_by_configuration',
    ]);
    expect(whole).toMatchObject({ supportsArtifacts: true, supportsAsyncJobs: true });
    expect(matrix.items[2]).toMatchObject({ supportsArtifacts: false, supportsAsyncJobs: true });
    expect(disabled).toMatchObject({ supportsAsyncJobs: false, enabled: false, registered: false });
    expect(matrix.disabledProviders).toMatchObject([{ providerId: 'a-remote', enableLiveTargets: false }]);
  });
});

test('profiles name the settings by a hash, which is pinned for those of the service', () => {
  expect(profileOf(ai)).toMatchObject({
    id: 'local-deterministic-ai',
    family: 'local',
    auth: 'none',
    configHash: 'sha256:906e677e82526f6205f9fca0b37421b46f7b0bc1741f30ef8611e1536f6081d4',
  });
  const { capabilities } = descriptorOf(remote);
  expect(capabilities).toMatchObject([
    { inputLimits: { maxInputBytes: 98_304 }, outputLimits: { maxOutputBytes: 196_608 } },
  ]);
  const research = capabilities[0]?.modePolicies.find(({ id }) => id === 'research');
  expect(research).toMatchObject({ toolPolicy: 'provider-owned', allowNetwork: true, timeoutSeconds: 180 });
});

describe('a capability', () => {
  test.each<[string, readonly StoredQualification[], object]>([
    ['that was never tried', [], { callable: true, ready: false, reason: 'unvalidated' }],
    ['that works', [validated], { callable: true, ready: true, reason: 'validated' }],
    ['of other settings', [{ ...validated, configHash: 'other' }], { ready: false, reason: 'unvalidated' }],
    [
      'that failed since',
      [validated, { ...validated, status: 'failed', at: NOW }],
      { callable: true, ready: false, canRunUnvalidated: false, reason: 'qualification_failed' },
    ],
    [
      'without a trial',
      [{ ...validated, status: 'unsupported' }],
      { callable: false, reason: 'unsupported' },
    ],
  ])('%s has its readiness', (_, stored, expected) => {
    expect(readinessItem(ai, 'ai.chat', factsWith(stored))).toMatchObject(expected);
  });

  test('of a provider that is off, or whose checks fail, cannot be called', () => {
    expect(readinessItem(remote, 'ai.chat', factsWith([]))).toMatchObject({
      callable: false,
      reason: 'provider_disabled',
    });
    expect(readinessItem(ai, 'ai.chat', factsWith([validated], true))).toMatchObject({
      callable: false,
      ready: false,
      reason: 'provider_doctor_failed',
    });
  });

  test('is ready exactly where it is callable and validated', () => {
    const stored = fc.array(
      fc.record({
        capability: fc.constantFrom('ai.chat', 'ai.review'),
        configHash: fc.constantFrom(ai.configHash, 'other'),
        status: fc.constantFrom('validated', 'failed', 'unsupported'),
        at: fc.nat(5),
        evidenceRefs: fc.constant([]),
      } as const),
    );
    fc.assert(
      fc.property(stored, fc.boolean(), fc.boolean(), (qualifications, isEnabled, hasFailedCheck) => {
        const item = readinessItem(
          { ...ai, isEnabled },
          'ai.chat',
          factsWith(qualifications, hasFailedCheck),
        );
        expect(item.ready).toBe(item.callable && item.qualificationStatus === 'validated');
        expect(item.canRunUnvalidated).toBe(item.callable && item.qualificationStatus === 'unvalidated');
        if (!isEnabled || hasFailedCheck) expect(item.callable).toBe(false);
      }),
    );
  });
});

test('readiness lists providers and capabilities in their order, and disabled ones separately', () => {
  const all = [reranker, remote, ai].map((target) => ({ target, facts: factsWith([]) }));
  const { items, disabledProviders } = readinessOf(all, NOW);
  expect(items.map(({ provider, capability }) => [provider, capability])).toEqual([
    ['a-remote', 'ai.chat'],
    ...ai.capabilities.map((each) => [ai.id, each]),
    [reranker.id, 'ai.rerank'],
  ]);
  expect(disabledProviders).toHaveLength(1);
});

describe('the stored qualification', () => {
  const failed: StoredQualification = { ...validated, status: 'failed', at: NOW };

  test('is the result of the last trial', () => {
    expect(withQualification([validated], failed, 'qualification')).toEqual([failed]);
    expect(withQualification([failed], validated, 'qualification')).toEqual([failed]);
  });

  test('is replaced by a run that succeeds, unless the capability is known to work', () => {
    const later = { ...validated, at: NOW + 1 };
    expect(withQualification([failed], later, 'run')).toEqual([{ ...later, evidenceRefs: [] }]);
    expect(withQualification([validated], later, 'run')).toEqual([validated]);
    expect(withQualification([validated], failed, 'run')).toEqual([validated]);
  });

  test('loses that of other settings', () => {
    const old = { ...validated, configHash: 'old', capability: 'ai.review' } as const;
    expect(withQualification([old], validated, 'qualification')).toEqual([validated]);
    expect(currentQualification(ai, 'ai.review', [old])).toBeNull();
  });

  test('keeps the evidence that is the same for all spaces', () => {
    const made = { ...validated, evidenceRefs: ['trace:t', 'input:sha256:a', 'output:sha256:b'] };
    expect(withQualification([], made, 'qualification')).toEqual([
      { ...made, evidenceRefs: ['input:sha256:a'] },
    ]);
    expect(withQualification([], made, 'run')).toEqual([{ ...made, evidenceRefs: [] }]);
  });

  test('names its evidence by ids and hashes', () => {
    const run = { traceId: 'trace-1', inputHash: 'sha256:a', outputHash: 'sha256:b', endedAt: NOW };
    const made = qualificationBy(ai, 'ai.chat', { ...run, status: 'Succeeded' });
    expect(made).toMatchObject({
      status: 'validated',
      evidenceRefs: ['trace:trace-1', 'input:sha256:a', 'output:sha256:b'],
    });
    expect(qualificationBy(ai, 'ai.chat', { ...run, outputHash: null, status: 'TimedOut' })).toMatchObject({
      status: 'failed',
      evidenceRefs: ['trace:trace-1', 'input:sha256:a'],
    });
  });
});

describe('the doctor', () => {
  const statusOf = (qualifications: readonly StoredQualification[], target = reranker) =>
    examineTarget(target, [], { qualifications, authRequired: false, limits }, NOW).status;
  const works = { ...validated, capability: 'ai.rerank', configHash: reranker.configHash } as const;

  test('reports the worst of its findings', () => {
    expect(statusOf([works])).toBe('ok');
    expect(statusOf([])).toBe('warning');
    expect(statusOf([], remote)).toBe('failed');
  });

  test('checks the provider, its model and each capability', () => {
    const { checks } = examineTarget(ai, [], factsWith([validated]), NOW);
    expect(checks.map(({ id, status }) => `${id} ${status}`)).toEqual([
      'local.availability ok',
      'model.binding ok',
      'model.catalog ok',
      'readiness.ai.chat ok',
      ...ai.capabilities.slice(1).map((each) => `readiness.${each} warning`),
    ]);
  });
});

describe('models and quotas', () => {
  const none = { callsOfMinute: null, tokensOfDay: null };
  const midnight = Date.UTC(2026, 0, 3);

  test('of a local provider are one model and no quota', () => {
    expect(modelsOf(ai, NOW)).toMatchObject({
      status: 'succeeded',
      source: 'local-static',
      items: [{ id: ai.id, default: true }],
    });
    expect(quotaOf(ai, none, NOW)).toMatchObject({
      status: 'unsupported',
      source: 'none',
      advisory: true,
      items: [],
      providerStatus: 'quota_unsupported',
    });
  });

  test('of another provider are the limits of the settings and their rest', () => {
    const callsOfMinute = { used: 15, max: 60, resetsAt: NOW + 30_000 };
    const tokensOfDay = { used: 2_000, max: 1_000, resetsAt: midnight };
    const { items, status } = quotaOf(remote, { callsOfMinute, tokensOfDay }, NOW);
    expect(status).toBe('succeeded');
    expect(items).toMatchObject([
      {
        limitId: 'calls_per_minute',
        primary: { usedPercent: 25, remainingPercent: 75, windowDurationMins: 1 },
      },
      {
        limitId: 'tokens_per_day',
        primary: { usedPercent: 100, remainingPercent: 0, resetsAt: '2026-01-03T00:00:00.000Z' },
        rateLimitReachedType: 'tokens_per_day',
      },
    ]);
    expect(quotaOf(remote, none, NOW)).toMatchObject({ status: 'unsupported' });
  });

  test('of an unknown provider are answers that say so', () => {
    const words = { failureClass: 'unsupported', providerStatus: 'provider_not_registered' };
    expect(unknownModels('x', NOW)).toMatchObject({ ...words, provider: 'x' });
    expect(unknownQuota('x', NOW)).toMatchObject({ ...words, provider: 'x' });
  });
});

test('the limits of a provider are shown with those of jobs', () => {
  const jobs = {
    maxActiveJobs: 100,
    maxRetainedTerminalJobs: 200,
    defaultJobListLimit: 50,
    maxJobListLimit: 200,
  };
  expect(limitsWithJobs(RUN_LIMITS, false, jobs)).toMatchObject({
    authRequired: false,
    maxConcurrentRuns: 1,
    queueTimeoutSeconds: 5,
    maxRunsPerWindow: 60,
    rateLimitWindowSeconds: 60,
    defaultTimeoutSeconds: 120,
    maxTimeoutSeconds: 300,
    maxOutputBytes: 131_072,
    maxActiveJobs: 100,
  });
});
