/** The vocabulary of providers. Its order is that of the capability matrix, and part of the contract. */

export const CAPABILITY_IDS = [
  'ai.chat',
  'ai.embedding',
  'ai.extract',
  'ai.rerank',
  'ai.review',
  'ai.scaffold',
  'ai.toolPlan',
  'agent.job',
  'agent.workspace',
  'compute.job',
  'retrieval.index',
  'retrieval.search',
  'storage.object',
] as const;
export type CapabilityId = (typeof CAPABILITY_IDS)[number];

/** The capabilities that a provider of this service can have. The others are in the vocabulary of the contract only. */
export type OfferedCapability = Extract<CapabilityId, `ai.${string}`>;

export const RUN_FAILURE_CLASSES = [
  'auth',
  'cancelled',
  'configuration',
  'network',
  'policy',
  'provider_unavailable',
  'quota',
  'rate_limit',
  'schema',
  'timeout',
  'tool',
  'trust',
  'unknown',
  'unsupported',
] as const;
export type RunFailureClass = (typeof RUN_FAILURE_CLASSES)[number];

/** The one operation of every capability. */
export const RUN_OPERATION = 'run';

/** Features of other services that no capability of this service has. */
export const UNSUPPORTED_FEATURES: readonly string[] = ['content_blocks', 'streaming', 'tool_execution'];
