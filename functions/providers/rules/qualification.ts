import type { JsonObject } from '../../kernel/canonical-json.ts';
import { formatUtc } from '../../kernel/timestamp.ts';
import { type OfferedCapability, RUN_OPERATION, UNSUPPORTED_FEATURES } from './capabilities.ts';
import type { RunResultStatus } from './outcome.ts';
import type { ProviderTarget } from './target.ts';

type QualificationStatus = 'unvalidated' | 'validated' | 'failed' | 'unsupported';

/**
 * The stored newest proof that a capability of a provider works: one record per provider holds those of all its
 * capabilities.
 */
export interface StoredQualification {
  readonly capability: OfferedCapability;
  /** The hash of the settings at the qualification: for other settings it is invalid. */
  readonly configHash: string;
  readonly status: Exclude<QualificationStatus, 'unvalidated'>;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** `trace:`, `input:` and `output:` with an id or a hash; never content. Every space sees those that are stored. */
  readonly evidenceRefs: readonly string[];
}

const LOCAL_TRIGGERS = [
  'config_hash_changed',
  'implementation_version_changed',
  'capability_descriptor_changed',
];
const NETWORK_TRIGGERS = ['network_policy_changed', 'auth_changed', 'provider_model_changed'];

/** The changes that invalidate a qualification. */
function driftTriggers({ isLocal }: Pick<ProviderTarget, 'isLocal'>): string[] {
  return isLocal ? [...LOCAL_TRIGGERS] : [...LOCAL_TRIGGERS, ...NETWORK_TRIGGERS];
}

/** The qualification for the present settings; `null` without one. */
export function currentQualification(
  target: ProviderTarget,
  capability: OfferedCapability,
  stored: readonly StoredQualification[],
): StoredQualification | null {
  const of = stored.filter((each) => each.capability === capability && each.configHash === target.configHash);
  return of.reduce<StoredQualification | null>(
    (newest, each) => (newest === null || each.at > newest.at ? each : newest),
    null,
  );
}

/** The qualification of a capability as callers see it. */
export function qualificationView(
  target: ProviderTarget,
  capability: OfferedCapability,
  stored: StoredQualification | null,
) {
  const isProof = stored?.status === 'validated';
  return {
    provider: target.id,
    capability,
    operationSet: [RUN_OPERATION],
    configHash: target.configHash,
    status: stored?.status ?? ('unvalidated' as const),
    lastValidatedAt: isProof ? formatUtc(stored.at) : null,
    driftTriggers: driftTriggers(target),
    unsupportedFeatures: [...UNSUPPORTED_FEATURES],
    evidenceRefs: [...(stored?.evidenceRefs ?? [])],
  };
}

export interface QualifyingRun {
  readonly status: RunResultStatus;
  readonly traceId: string;
  readonly inputHash: string;
  readonly outputHash: string | null;
  /** Milliseconds since 1970. */
  readonly endedAt: number;
}

/** The qualification that a run of the tiny request proves. */
export function qualificationBy(
  target: ProviderTarget,
  capability: OfferedCapability,
  run: QualifyingRun,
): StoredQualification {
  const { status, traceId, inputHash, outputHash, endedAt } = run;
  const output = outputHash === null ? [] : [`output:${outputHash}`];
  return {
    capability,
    configHash: target.configHash,
    status: status === 'Succeeded' ? 'validated' : 'failed',
    at: endedAt,
    evidenceRefs: [`trace:${traceId}`, `input:${inputHash}`, ...output],
  };
}

/**
 * The stored qualifications after a run or a qualification, for all spaces. The only evidence is the hash of the tiny request, which is the
 * same for all spaces. A later run does not change a validated capability; a successful run replaces a failed qualification of the same
 * settings. Qualifications of other settings are removed.
 */
export function withQualification(
  stored: readonly StoredQualification[],
  next: StoredQualification,
  from: 'qualification' | 'run',
): readonly StoredQualification[] {
  const same = stored.filter(({ configHash }) => configHash === next.configHash);
  const known = same.find(({ capability }) => capability === next.capability);
  if (from === 'run' && (next.status !== 'validated' || known?.status === 'validated')) return stored;
  if (known !== undefined && known.at > next.at) return stored;
  return [...same.filter((each) => each !== known), { ...next, evidenceRefs: sharedRefs(next, from) }];
}

/** The payload and the trace of a run, and the trace of a qualification, are matters of their space. */
function sharedRefs({ evidenceRefs }: StoredQualification, from: 'qualification' | 'run'): readonly string[] {
  return from === 'run' ? [] : evidenceRefs.filter((ref) => ref.startsWith('input:'));
}

/**
 * The payload of the smallest useful request of a capability. Its content is meaningless, because a provider receives
 * it.
 */
export function tinyPayload(capability: OfferedCapability): JsonObject {
  return tinyPayloads[capability];
}

const tinyPayloads: Readonly<Record<OfferedCapability, JsonObject>> = {
  'ai.chat': { messages: [{ role: 'user', content: 'Answer with the word ready.' }], maxOutputChars: 64 },
  'ai.embedding': { texts: ['ready'], purpose: 'symmetric' },
  'ai.extract': {
    text: 'The state is ready.',
    schema: { type: 'object', properties: { state: { type: 'string' } } },
  },
  'ai.rerank': {
    query: 'ready state',
    candidates: [
      { id: 'first', text: 'The state is ready.' },
      { id: 'second', text: 'Another sentence.' },
    ],
    limit: 2,
  },
  'ai.review': { prompt: 'Review this sentence.', subject: 'The state is ready.', maxFindings: 1 },
  'ai.scaffold': {
    prompt: 'Propose a file with the word ready.',
    allowedPaths: ['proposal.md'],
    maxArtifacts: 1,
  },
  'ai.toolPlan': {
    prompt: 'Use the tool read_state.',
    tools: [{ name: 'read_state', description: 'Reads the state.' }],
  },
};
