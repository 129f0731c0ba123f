import type { Turns } from '../kernel/turns.ts';
import type { World } from '../kernel/world.ts';
import { PROVIDER_ANSWERS, schemaFailure } from '../providers/outgoing/answer.ts';
import { callProvider } from '../providers/outgoing/call-provider.ts';
import type { Embedder, EmbeddingPrefixes } from './embedder.ts';
import { answerBytesMax, memberOf, readList, readVector, reportedTokens } from './rules/vector-answer.ts';

/** https://platform.openai.com/docs/api-reference/embeddings/create. */
const BATCH = { textsMax: 2_048, tokensMax: 300_000 } as const;
/** Bytes of one answer that a process holds: at most some 48 MB of JSON. */
const NUMBERS_MAX = 1_000_000;

export interface OpenAiEmbedderOptions {
  /** The id of the provider in the settings. */
  readonly provider: string;
  /** Such as `https://api.openai.com/v1`. */
  readonly baseAddress: string;
  readonly modelId: string;
  readonly dimensions: number;
  /** Requests this size from the model; models with one size refuse the request member. */
  readonly sendsDimensions: boolean;
  readonly prefixes: EmbeddingPrefixes;
  /** Called before each request; `null`: the server needs no key. */
  readonly apiKey: () => Promise<string | null>;
  /** The time limit of all tries of one call together. */
  readonly timeoutMs: number;
}

/** A model behind the embeddings operation of OpenAI, which many servers speak: Ollama, vLLM and others. */
export function openAiEmbedder(world: World, options: OpenAiEmbedderOptions): Embedder {
  const { provider, baseAddress, modelId, dimensions, sendsDimensions, prefixes, apiKey, timeoutMs } =
    options;
  const url = `${baseAddress.replace(/\/$/, '')}/embeddings`;
  return {
    provider,
    modelId,
    dimensions,
    prefixes,
    isPaid: true,
    batch: { ...BATCH, textsMax: Math.min(BATCH.textsMax, Math.ceil(NUMBERS_MAX / dimensions)) },
    async embed(texts, { signal, admit, took }) {
      const size = sendsDimensions ? { dimensions } : {};
      const body = { input: texts, model: modelId, ...size, encoding_format: 'float' };
      const key = await apiKey();
      const headers = new Headers(key === null ? {} : { authorization: `Bearer ${key}` });
      const call = { url, headers, body, answerBytesMax: answerBytesMax(texts.length, dimensions) };
      const answer = await callProvider(world, call, { timeoutMs, signal, admit });
      const usage = memberOf(answer, 'usage');
      took?.(reportedTokens(memberOf(usage, 'prompt_tokens'), memberOf(usage, 'total_tokens')));
      return vectorsIn(answer, { count: texts.length, dimensions, turns: world.turns.of(PROVIDER_ANSWERS) });
    },
  };
}

/** The answer has the index of each vector, and may list them in another order. */
async function vectorsIn(
  answer: unknown,
  {
    count,
    dimensions,
    turns,
  }: { readonly count: number; readonly dimensions: number; readonly turns: Turns },
): Promise<readonly Float32Array[]> {
  const vectors = new Map<number, Float32Array>();
  for (const item of readList(answer, 'data', count)) {
    const index = memberOf(item, 'index');
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= count)
      throw schemaFailure('vector_index', 'The provider answered a vector for no text of the call.');
    vectors.set(index, readVector(memberOf(item, 'embedding'), dimensions));
    if (turns.due()) await turns.next();
  }
  if (vectors.size !== count)
    throw schemaFailure('vector_index', 'The provider answered two vectors for one text.');
  return [...vectors].sort(([left], [right]) => left - right).map(([, vector]) => vector);
}
