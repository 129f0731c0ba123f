import type { World } from '../kernel/world.ts';
import { PROVIDER_ANSWERS } from '../providers/outgoing/answer.ts';
import { callProvider } from '../providers/outgoing/call-provider.ts';
import type { BatchLimits, Embedder, EmbeddingPrefixes, EmbeddingPurpose } from './embedder.ts';
import { answerBytesMax, memberOf, readList, readVector, reportedTokens } from './rules/vector-answer.ts';

/** https://cloud.google.com/vertex-ai/generative-ai/docs/embeddings/get-text-embeddings. */
const BATCH: BatchLimits = { textsMax: 250, tokensMax: 20_000 };
const ONE_TEXT: BatchLimits = { textsMax: 1, tokensMax: 20_000 };
const ONE_TEXT_MODELS: ReadonlySet<string> = new Set(['gemini-embedding-001']);

const taskTypes: Readonly<Record<EmbeddingPurpose, string>> = {
  query: 'RETRIEVAL_QUERY',
  passage: 'RETRIEVAL_DOCUMENT',
  document: 'RETRIEVAL_DOCUMENT',
  symmetric: 'SEMANTIC_SIMILARITY',
};

export interface VertexEmbedderOptions {
  /** The id of the provider in the settings. */
  readonly provider: string;
  readonly project: string;
  /** A region, or `global`. */
  readonly location: string;
  readonly modelId: string;
  readonly dimensions: number;
  readonly prefixes: EmbeddingPrefixes;
  /** The header fields that authenticate the service. */
  readonly credentials: () => Promise<Headers>;
  /** The address of another server with this API. */
  readonly endpoint?: string;
  /** The time limit of all tries of one call together. */
  readonly timeoutMs: number;
}

/** A text model of Google Vertex AI, by its `predict` operation. */
export function vertexEmbedder(world: World, options: VertexEmbedderOptions): Embedder {
  const { provider, modelId, dimensions, prefixes, credentials, timeoutMs } = options;
  const url = predictAddress(options);
  return {
    provider,
    modelId,
    dimensions,
    prefixes,
    isPaid: true,
    batch: ONE_TEXT_MODELS.has(modelId) ? ONE_TEXT : BATCH,
    async embed(texts, { purpose, signal, admit, took }) {
      const instances = texts.map((content) => ({ content, task_type: taskTypes[purpose] }));
      // Makes the model refuse a text that it would otherwise truncate silently.
      const parameters = { autoTruncate: false, outputDimensionality: dimensions };
      const bytes = answerBytesMax(texts.length, dimensions);
      const call = {
        url,
        headers: await credentials(),
        body: { instances, parameters },
        answerBytesMax: bytes,
      };
      const answer = await callProvider(world, call, { timeoutMs, signal, admit });
      took?.(tokensIn(answer));
      const turns = world.turns.of(PROVIDER_ANSWERS);
      const vectors: Float32Array[] = [];
      for (const each of readList(answer, 'predictions', texts.length)) {
        vectors.push(readVector(memberOf(memberOf(each, 'embeddings'), 'values'), dimensions));
        if (turns.due()) await turns.next();
      }
      return vectors;
    },
  };
}

/** The sum of the tokens that the answer reports for each text; `null` if one text has none. */
function tokensIn(answer: unknown): number | null {
  const predictions = memberOf(answer, 'predictions');
  if (!Array.isArray(predictions)) return null;
  const counts = predictions.map((each: unknown) =>
    reportedTokens(memberOf(memberOf(memberOf(each, 'embeddings'), 'statistics'), 'token_count')),
  );
  return counts.length === 0 || !counts.every((each) => each !== null)
    ? null
    : reportedTokens(counts.reduce((sum, each) => sum + each, 0));
}

function predictAddress({ project, location, modelId, endpoint }: VertexEmbedderOptions): string {
  const host = location === 'global' ? 'aiplatform' : `${location}-aiplatform`;
  const [ownProject, ownLocation, model] = [project, location, modelId].map(encodeURIComponent);
  const path = `projects/${ownProject}/locations/${ownLocation}/publishers/google/models/${model}:predict`;
  return `${endpoint ?? `https://${host}.googleapis.com`}/v1/${path}`;
}
