import type { TurnRoom } from '../kernel/turn-room.ts';
import { inTurns } from '../kernel/turns.ts';
import type { ProviderFailure } from '../providers/failure.ts';
import { tokenOverlap } from '../providers/rules/token-overlap.ts';
import type { RerankerPayload, RerankItem } from './rules/rerank.ts';
import type { RerankFailure } from './rules/rerank-outcome.ts';

export interface RerankCall {
  readonly space: string;
  /** `null`: the call has no request id. */
  readonly correlationId: string | null;
  readonly mode: string;
  /** `null`: the limit of the mode. */
  readonly timeoutSeconds: number | null;
  readonly maxOutputBytes: number | null;
  readonly signal: AbortSignal;
}

/** Either an order or the reason of a failure. */
export type RerankAnswer = {
  /** The trace of the run, if the provider writes one. */
  readonly traceId: string | null;
} & (
  | { readonly items: readonly RerankItem[] }
  | {
      readonly failure: RerankFailure;
      /** The failure, if it is transient or a limit of the service; absent for all others. */
      readonly passing?: ProviderFailure;
    }
);

/** Orders texts by their relevance to a query. */
export interface Reranker {
  readonly provider: string;
  /** The most bytes of a request of the mode, as JSON in UTF-8; `null` if the provider does not have the mode. */
  readonly inputBytesMax: (mode: string) => number | null;
  /** May throw a `ProviderFailure`. */
  readonly rerank: (payload: RerankerPayload, call: RerankCall) => Promise<RerankAnswer>;
}

export interface Rerankers {
  /** The reranker of the id; the id `null` means that of the service itself. Returns `null` for an unknown id. */
  readonly find: (provider: string | null) => Reranker | null;
}

export const LOCAL_RERANKER = 'local-token-overlap-reranker';

const KIB = 1_024;
const inputBytes: Readonly<Record<string, number>> = {
  mechanics: 32 * KIB,
  development: 64 * KIB,
  advisory: 64 * KIB,
  research: 64 * KIB,
  review: 96 * KIB,
  scaffold: 96 * KIB,
};

/** The reranker of the service itself scores the share of the query's words in a text. The same input gives the same order. */
export function localReranker(turns: TurnRoom): Reranker {
  return {
    provider: LOCAL_RERANKER,
    inputBytesMax: (mode) => (Object.hasOwn(inputBytes, mode) ? (inputBytes[mode] ?? null) : null),
    async rerank(payload, { space, signal }) {
      const items = await inTurns(tokenOverlap(payload), turns.of(space, signal));
      return { traceId: null, items };
    },
  };
}
