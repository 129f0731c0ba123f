import { keepQualification, qualificationsOf } from './qualifications.ts';
import type { RegisteredProvider } from './registered.ts';
import type { OfferedCapability } from './rules/capabilities.ts';
import {
  currentQualification,
  qualificationBy,
  qualificationView,
  type StoredQualification,
  tinyPayload,
} from './rules/qualification.ts';
import { inputHashOf } from './rules/run-request.ts';
import { type EndedRun, outputHashOf, type ProviderTrace } from './rules/run-result.ts';
import { type CapabilityParts, runCapability } from './run-capability.ts';

export interface Qualification {
  readonly capabilities: readonly OfferedCapability[];
  readonly mode: string;
  readonly space: string;
  readonly correlationId: string;
  readonly signal: AbortSignal;
  readonly newTraceId: () => string;
}

/**
 * Tries each capability with the smallest useful request, one after the other, and stores the results as proof. A run
 * that the limits or the settings of the service refused proves nothing. Each run of a paid provider costs money. The
 * traces are evidence for this caller alone.
 */
export async function qualify(
  parts: CapabilityParts,
  provider: RegisteredProvider,
  { capabilities, mode, ...of }: Qualification,
): Promise<readonly ReturnType<typeof qualificationView>[]> {
  const { target } = provider;
  const proofs = new Map<OfferedCapability, StoredQualification>();
  for (const capability of capabilities) {
    of.signal.throwIfAborted();
    const traceId = of.newTraceId();
    const request = { capability, mode, payload: tinyPayload(capability) };
    const run = { ...of, id: traceId, isJob: false, traceId, request, memory: null };
    const ended = await runCapability(parts, provider, run);
    const made = proofOf(ended, capability);
    await parts.writeTrace(of.space, traceOf(ended, made, of.newTraceId()));
    if (!isProof(ended)) continue;
    await keepQualification(parts.store, target.id, made, 'qualification');
    proofs.set(capability, made);
  }
  const [stored = []] = await qualificationsOf(parts.store, [target.id]);
  return capabilities.map((each) =>
    qualificationView(target, each, proofs.get(each) ?? currentQualification(target, each, stored)),
  );
}

/** A provider that the service did not call, by its limits or because the settings do not let it, works as before. */
function isProof({ target, outcome }: EndedRun): boolean {
  return target.isEnabled && outcome.reached !== 'guard';
}

function proofOf(ended: EndedRun, capability: OfferedCapability): StoredQualification {
  const { target, request, outcome, traceId, startedAt, durationMs } = ended;
  return qualificationBy(target, capability, {
    status: outcome.status,
    traceId,
    inputHash: inputHashOf(request),
    outputHash: outputHashOf(outcome),
    endedAt: startedAt + durationMs,
  });
}

function traceOf(
  { target, outcome, startedAt, durationMs, request }: EndedRun,
  made: StoredQualification,
  id: string,
): ProviderTrace {
  const { capability, status, configHash, evidenceRefs } = made;
  const { failureClass, providerStatus } = outcome;
  const facts = { configHash, evidenceRefs: [...evidenceRefs], failureClass, providerStatus };
  return {
    id,
    operation: 'provider.qualification',
    adapter: target.id,
    request: {
      provider: target.id,
      capability,
      mode: request.mode ?? null,
      payloadHash: inputHashOf(request),
    },
    resultSummary: { status, ...facts },
    startedAt,
    durationMs,
  };
}
