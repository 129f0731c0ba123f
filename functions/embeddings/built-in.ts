import type { TurnRoom } from '../kernel/turn-room.ts';
import { inTurns, type Turns } from '../kernel/turns.ts';
import type { BatchLimits, EmbedCall, Embedder } from './embedder.ts';
import { deterministicHashVector } from './rules/deterministic-hash.ts';
import { tokenHashVector } from './rules/token-hash.ts';

const NO_PREFIXES = { query: null, passage: null, symmetric: null } as const;
/** Limits of a call: no more than a request has, so that a job lets other work run after each call. */
const BATCH: BatchLimits = { textsMax: 16, tokensMax: 1_000_000 };

interface BuiltIn {
  readonly provider: string;
  readonly modelId: string;
  /** The default of the setting. */
  readonly dimensions: number;
  readonly vectorOf: (text: string, dimensions: number) => Generator<void, Float32Array>;
}

const models: readonly BuiltIn[] = [
  {
    provider: 'local-token-hash',
    modelId: 'local-token-hash-embedding-v1',
    dimensions: 384,
    vectorOf: tokenHashVector,
  },
  {
    provider: 'deterministic-hash',
    modelId: 'deterministic-hash-embedding-v1',
    dimensions: 64,
    vectorOf: deterministicHashVector,
  },
];

/** A model of the service under another id and with another length of vectors. */
export interface RenamedModel {
  readonly provider: string;
  readonly modelId: string;
  readonly dimensions: number;
}

/** `null` if the service has no such model. */
export function renamedEmbedder(named: RenamedModel, turns?: TurnRoom): Embedder | null {
  const model = models.find(({ modelId }) => modelId === named.modelId);
  const embedder = builtInEmbedder(model?.provider ?? '', named.dimensions, turns);
  return embedder === null ? null : { ...embedder, provider: named.provider };
}

/**
 * The embedder of the service under this id, without a network and free of cost; `null` if it has none. Without
 * `turns`, a call does its work without a pause.
 */
export function builtInEmbedder(provider: string, dimensions?: number, turns?: TurnRoom): Embedder | null {
  const model = models.find((each) => each.provider === provider);
  if (model === undefined) return null;
  const size = dimensions ?? model.dimensions;
  return {
    provider,
    modelId: model.modelId,
    dimensions: size,
    prefixes: NO_PREFIXES,
    isPaid: false,
    batch: BATCH,
    embed: (texts, call) => inTurns(vectorsOf(model, texts, size), turnsFor(call, turns)),
  };
}

function* vectorsOf(
  { vectorOf }: BuiltIn,
  texts: readonly string[],
  size: number,
): Generator<void, readonly Float32Array[]> {
  const vectors: Float32Array[] = [];
  for (const text of texts) vectors.push(yield* vectorOf(text, size));
  return vectors;
}

/** The work ends if the call is aborted. */
function turnsFor({ signal, space = '' }: EmbedCall, room: TurnRoom | undefined): Turns {
  return room?.of(space, signal) ?? { due: () => false, next: () => Promise.resolve() };
}
