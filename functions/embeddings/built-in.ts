import type { BatchLimits, Embedder } from './embedder.ts';
import { deterministicHashVector } from './rules/deterministic-hash.ts';
import { tokenHashVector } from './rules/token-hash.ts';

const NO_PREFIXES = { query: null, passage: null, symmetric: null } as const;
/** They hold no more than a request does, and a job comes up for air after each call. */
const BATCH: BatchLimits = { textsMax: 16, tokensMax: 1_000_000 };

interface BuiltIn {
  readonly provider: string;
  readonly modelId: string;
  /** Where no setting says otherwise. */
  readonly dimensions: number;
  readonly vectorOf: (text: string, dimensions: number) => Float32Array;
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

/** The embedder of the service under this id, without a network and free of cost; `null` where it has none. */
export function builtInEmbedder(provider: string, dimensions?: number): Embedder | null {
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
    embed: (texts) => Promise.resolve(texts.map((text) => model.vectorOf(text, size))),
  };
}
