import type { JsonObject } from '../kernel/canonical-json.ts';
import type { RegisteredProvider } from './registered.ts';
import type { RunFailureClass } from './rules/capabilities.ts';
import { MODE_DEFAULT, modePolicyOf } from './rules/modes.ts';
import type { RankedItem } from './rules/token-overlap.ts';
import { type CapabilityParts, runCapability } from './run-capability.ts';

interface RerankQuestion {
  readonly query: string;
  /** Texts by ids that differ. */
  readonly candidates: readonly { readonly id: string; readonly text: string }[];
  /** The number of the best items in the answer. */
  readonly limit: number;
  readonly mode?: string | undefined;
  readonly timeoutSeconds?: number | null | undefined;
  readonly maxOutputBytes?: number | null | undefined;
}

interface ProviderRerankCall {
  /** The space of the texts: the call uses its share of the limits, and writes its trace. */
  readonly space: string;
  readonly correlationId: string;
  readonly signal: AbortSignal;
}

interface RerankFacts {
  readonly provider: string;
  /** The trace of the run, which has no texts. */
  readonly traceId: string;
  readonly payloadBytes: number;
  /** The limit of the mode; 0 for an unknown mode. */
  readonly maxInputBytes: number;
}

export type RerankResult =
  | (RerankFacts & { readonly items: readonly RankedItem[]; readonly failure: null })
  | (RerankFacts & {
      readonly items: null;
      readonly failure: {
        readonly failureClass: RunFailureClass | null;
        readonly providerStatus: string;
        readonly message: string | null;
        readonly retryAfterMs: number | null;
        /** The member of this name of a `ProviderFailure`. */
        readonly isOfGuard: boolean;
      };
    });

/** Orders texts by how well they answer a query. A refusal or failure of the provider is a result: throws only where the call is interrupted. */
export type Rerank = (question: RerankQuestion, call: ProviderRerankCall) => Promise<RerankResult>;

/** Reranking by a provider, with all its limits, and a trace for each run. */
export function rerankWith(
  parts: CapabilityParts,
  provider: RegisteredProvider,
  newTraceId: () => string,
): Rerank {
  const { id, isLocal } = provider.target;
  return async ({ query, candidates, limit, mode = MODE_DEFAULT, ...bounds }, call) => {
    const payload: JsonObject = {
      query,
      candidates: candidates.map((each) => ({ id: each.id, text: each.text })),
      limit,
    };
    const traceId = newTraceId();
    const { timeoutSeconds = null, maxOutputBytes = null } = bounds;
    const request = { capability: 'ai.rerank', mode, payload, timeoutSeconds, maxOutputBytes };
    const run = { ...call, request, id: traceId, isJob: false, traceId, memory: null };
    const { outcome } = await runCapability(parts, provider, run);
    const facts = {
      provider: id,
      traceId,
      payloadBytes: Buffer.byteLength(JSON.stringify(payload)),
      maxInputBytes: modePolicyOf(mode, isLocal)?.maxInputBytes ?? 0,
    };
    if (outcome.output !== null)
      return { ...facts, items: outcome.output['items'] as unknown as readonly RankedItem[], failure: null };
    const { failureClass, providerStatus, message, retryAfterMs = null } = outcome;
    const isOfGuard = outcome.reached === 'guard' && outcome.status === 'Rejected';
    return {
      ...facts,
      items: null,
      failure: { failureClass, providerStatus, message, retryAfterMs, isOfGuard },
    };
  };
}
