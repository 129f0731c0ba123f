import { canonicalJson, type Json, sha256 } from '../../kernel/canonical-json.ts';
import { type OfferedCapability, RUN_OPERATION } from './capabilities.ts';
import { MODE_DEFAULT, modePolicyOf } from './modes.ts';
import { type RunOutcome, refused } from './outcome.ts';
import { InvalidPayload } from './payload-members.ts';
import { type RunPayload, readPayload } from './payloads.ts';
import type { RunLimits } from './run-limits.ts';
import type { ProviderTarget } from './target.ts';

/** A request as its schema has accepted it. An absent member and `null` are the same. */
export interface RunRequest {
  readonly capability: string;
  readonly operation?: string | null;
  readonly mode?: string | null;
  readonly modelId?: string | null;
  readonly payload: Json;
  readonly correlationId?: string | null;
  readonly contextRefs?: readonly string[] | null;
  /** Seconds, for the whole run. */
  readonly timeoutSeconds?: number | null;
  /** Bytes of the output as JSON. */
  readonly maxOutputBytes?: number | null;
  readonly artifactDirectory?: string | null;
}

/** The work of a run whose request was accepted. */
export interface RunPlan {
  readonly capability: OfferedCapability;
  readonly mode: string;
  readonly payload: RunPayload;
  readonly payloadBytes: number;
  /** The hash of the payload, which traces contain in place of the payload. */
  readonly inputHash: string;
  readonly timeoutMs: number;
  readonly outputBytesMax: number;
}

/** The names in a request; the job, the result and the trace repeat them. */
export function namesOf({ capability, operation, mode }: RunRequest) {
  return { capability, operation: operation ?? RUN_OPERATION, mode: mode ?? MODE_DEFAULT };
}

/** Hash of the payload of a request, also of one that is refused. */
export function inputHashOf({ payload }: Pick<RunRequest, 'payload'>): string {
  return sha256(payloadText(payload) ?? JSON.stringify(payload));
}

/** `null` where a text of the payload is not well-formed Unicode. */
function payloadText(payload: Json): string | null {
  try {
    return canonicalJson(payload);
  } catch {
    return null;
  }
}

/** The plan of a run, or the outcome of one that is refused before the provider is called. */
export function planRun(
  target: ProviderTarget,
  request: RunRequest,
  limits: RunLimits,
): RunPlan | RunOutcome {
  const refusal = limitRefusal(request, limits) ?? targetRefusal(target, request);
  if (refusal !== null) return refused(...refusal);
  const { capability, mode } = namesOf(request);
  const policy = modePolicyOf(mode, target.isLocal);
  if (policy === undefined) return refused(['Rejected', 'policy', 'unknown_mode'], 'There is no such mode.');
  const text = payloadText(request.payload);
  if (text === null)
    return refused(['Rejected', 'schema', 'invalid_request'], 'The payload is not well-formed Unicode.');
  const payloadBytes = Buffer.byteLength(text);
  if (payloadBytes > policy.maxInputBytes) {
    const message = `The payload has more than the ${policy.maxInputBytes} bytes of its mode.`;
    return refused(['Rejected', 'policy', 'input_limit'], message);
  }
  // The refusals of the target have found any other.
  const offered = capability as OfferedCapability;
  const payload = payloadOrFault(offered, request.payload);
  if (typeof payload === 'string')
    return refused(['Rejected', 'schema', 'invalid_request'], `The payload is not valid: ${payload}.`);
  const asked = request.timeoutSeconds ?? Math.min(policy.timeoutSeconds, limits.defaultTimeoutSeconds);
  const outputs = [request.maxOutputBytes ?? Infinity, policy.maxOutputBytes, limits.maxOutputBytes];
  return {
    capability: offered,
    mode,
    payload,
    payloadBytes,
    inputHash: sha256(text),
    timeoutMs: asked * 1_000,
    outputBytesMax: Math.min(...outputs),
  };
}

export function isPlan(plan: RunPlan | RunOutcome): plan is RunPlan {
  return 'payload' in plan;
}

type Refusal = Parameters<typeof refused>;

/** The refusal of a request above the limits of all providers. */
function limitRefusal({ timeoutSeconds, maxOutputBytes }: RunRequest, limits: RunLimits): Refusal | null {
  const { maxTimeoutSeconds, maxOutputBytes: outputMax } = limits;
  if (isNotPositive(timeoutSeconds))
    return [['Rejected', 'policy', 'invalid_timeout'], 'timeoutSeconds must be at least 1.'];
  if ((timeoutSeconds ?? 0) > maxTimeoutSeconds)
    return [
      ['Rejected', 'policy', 'timeout_exceeds_policy'],
      `timeoutSeconds may be at most ${maxTimeoutSeconds}.`,
    ];
  if (isNotPositive(maxOutputBytes))
    return [['Rejected', 'policy', 'invalid_output_limit'], 'maxOutputBytes must be at least 1.'];
  if ((maxOutputBytes ?? 0) > outputMax)
    return [
      ['Rejected', 'policy', 'output_limit_exceeds_policy'],
      `maxOutputBytes may be at most ${outputMax}.`,
    ];
  return null;
}

function isNotPositive(value: number | null | undefined): boolean {
  return value !== null && value !== undefined && !(Number.isSafeInteger(value) && value >= 1);
}

/** The refusal of a request for something that the provider does not offer. */
function targetRefusal(target: ProviderTarget, request: RunRequest): Refusal | null {
  const { capability, operation } = namesOf(request);
  if (!target.isEnabled)
    return [
      ['NotConfigured', 'configuration', 'provider_disabled'],
      'The settings do not let the service call the provider.',
    ];
  if (!(target.capabilities as readonly string[]).includes(capability))
    return [
      ['Unsupported', 'unsupported', 'unsupported_capability'],
      'The provider does not have the capability.',
    ];
  if (operation !== RUN_OPERATION)
    return [
      ['Unsupported', 'unsupported', 'unsupported_operation'],
      `The only operation is ${RUN_OPERATION}.`,
    ];
  if ((request.artifactDirectory ?? '') !== '')
    return [
      ['Unsupported', 'unsupported', 'unsupported_artifact_directory'],
      'The service writes no files: a scaffold is a proposal in the result.',
    ];
  const model = request.modelId ?? '';
  // Another model may cost more than the settings mean to spend.
  if (model !== '' && model !== target.modelId)
    return [['Rejected', 'policy', 'model_not_allowed'], 'The settings name another model for the provider.'];
  return null;
}

function payloadOrFault(capability: OfferedCapability, payload: Json): RunPayload | string {
  try {
    return readPayload(capability, payload);
  } catch (error) {
    if (error instanceof InvalidPayload) return error.message;
    throw error;
  }
}
