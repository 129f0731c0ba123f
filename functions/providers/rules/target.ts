import { sha256 } from '../../kernel/canonical-json.ts';
import type { OfferedCapability } from './capabilities.ts';

type TargetKind = 'deterministic' | 'openai-compatible' | 'vertex';

/** A provider of capabilities as the settings and the service name it. A target holds no secret. */
export interface ProviderTarget {
  readonly id: string;
  readonly displayName: string;
  readonly kind: TargetKind;
  /** Whether it is part of the service; each call of another goes over the network. */
  readonly isLocal: boolean;
  /** The kind of authentication: a word, never a credential. */
  readonly auth: 'none' | 'api-key' | 'google-credentials';
  /** In the order of the vocabulary. */
  readonly capabilities: readonly OfferedCapability[];
  /** The model of every run. */
  readonly modelId: string;
  /** Changes with every setting that may change its answers. */
  readonly configHash: string;
  /** Whether the settings let the service call it. */
  readonly isEnabled: boolean;
}

/** The version of the implementations in this service; part of the profile and of each qualification. */
export const IMPLEMENTATION_VERSION = '0.1';

const LOCAL = { kind: 'deterministic', isLocal: true, auth: 'none', isEnabled: true } as const;

/** The providers that are part of the service: they need no network, cost nothing and always give the same answer. */
export const localTargets: readonly ProviderTarget[] = [
  localTarget('local-deterministic-ai', 'Deterministic AI', [
    'ai.chat',
    'ai.extract',
    'ai.rerank',
    'ai.review',
    'ai.scaffold',
    'ai.toolPlan',
  ]),
  localTarget('local-token-overlap-reranker', 'Token overlap reranker', ['ai.rerank']),
];

function localTarget(
  id: string,
  displayName: string,
  capabilities: readonly OfferedCapability[],
): ProviderTarget {
  const configHash = sha256(`${id}|${IMPLEMENTATION_VERSION}`);
  return { ...LOCAL, id, displayName, capabilities, modelId: id, configHash };
}

/** Replaces a provider that the settings no longer name, in the results of its jobs. */
export function goneTarget(id: string): ProviderTarget {
  return { ...localTarget(id, id, []), isEnabled: false };
}
