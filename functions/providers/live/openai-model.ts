import type { JsonObject } from '../../kernel/canonical-json.ts';
import type { World } from '../../kernel/world.ts';
import { ProviderFailure } from '../failure.ts';
import { schemaFailure } from '../outgoing/answer.ts';
import { callProvider } from '../outgoing/call-provider.ts';
import type { ChatPrompt } from '../rules/prompts.ts';
import type { ChatCompletion } from '../rules/structured-answer.ts';
import { inputTokensMax, outputTokensBound, usageOf } from '../rules/usage.ts';
import { withoutSecret } from '../rules/without-secret.ts';
import { bytesOf, memberOf } from './answer-members.ts';
import type { LiveModel, ModelBounds, RankedDocument } from './model.ts';

export interface OpenAiModelOptions {
  /** Such as `https://api.openai.com/v1`. */
  readonly baseAddress: string;
  readonly modelId: string;
  readonly outputTokensMax: number;
  /** The member that limits the output; absent: chosen by the address. */
  readonly tokenParameter?: string | undefined;
  /** Called before each request; `null`: the server needs no key. */
  readonly apiKey: () => Promise<string | null>;
}

/**
 * A model behind the chat completions of OpenAI (https://platform.openai.com/docs/api-reference/chat/create) and the operation
 * `rerank` that Jina, Cohere and vLLM have beside it (https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html).
 */
export function openAiModel(
  world: World,
  { baseAddress, modelId, outputTokensMax, tokenParameter, apiKey }: OpenAiModelOptions,
): Required<Pick<LiveModel, 'complete' | 'rank'>> {
  const base = baseAddress.replace(/\/$/, '');
  const outputLimit = { [tokenParameter ?? outputLimitName(baseAddress)]: outputTokensMax };
  const call = async (path: string, body: JsonObject, bounds: ModelBounds) => {
    const key = await apiKey();
    const headers = new Headers(key === null ? {} : { authorization: `Bearer ${key}` });
    const { answerBytesMax } = bounds;
    const answer = await callProvider(world, { url: base + path, headers, body, answerBytesMax }, bounds);
    return { answer, key };
  };
  return {
    async complete(prompt, bounds) {
      const body = { ...chatBody(modelId, prompt), ...outputLimit };
      const { answer, key } = await call('/chat/completions', body, bounds);
      const choice = choiceIn(answer);
      const reported = memberOf(answer, 'usage');
      const input = bytesOf(body.messages);
      const usage = usageOf(
        { input: memberOf(reported, 'prompt_tokens'), output: memberOf(reported, 'completion_tokens') },
        { input, output: bytesOf(contentOf(choice)) },
        { input: inputTokensMax(input, body.messages.length), output: outputTokensBound(outputTokensMax) },
      );
      bounds.took?.(usage);
      const { text, isWhole } = completionIn(choice);
      return { value: { text: withoutSecret(text, key), isWhole }, usage, secret: key };
    },
    async rank({ query, documents, limit }, bounds) {
      const body = { model: modelId, query, documents, top_n: limit, return_documents: false };
      const { answer } = await call('/rerank', body, bounds);
      const reported = memberOf(memberOf(answer, 'usage'), 'total_tokens');
      const input = bytesOf([query, documents]);
      // A model of pairs reads the query with each document.
      const most = inputTokensMax(input + bytesOf(query) * documents.length, documents.length);
      const usage = usageOf({ input: reported, output: 0 }, { input, output: 0 }, { input: most, output: 0 });
      bounds.took?.(usage);
      return { value: ranksIn(answer, documents.length), usage };
    },
  };
}

/** OpenAI itself has renamed the member, and other servers with this operation may not know the new name. */
function outputLimitName(baseAddress: string): string {
  const { hostname } = new URL(baseAddress);
  return hostname === 'api.openai.com' ? 'max_completion_tokens' : 'max_tokens';
}

function chatBody(model: string, { system, messages, wantsJson }: ChatPrompt) {
  const first = system === null || system === '' ? [] : [{ role: 'system', content: system }];
  const own = messages.map(({ role, content }) => ({ role, content }));
  return {
    model,
    messages: [...first, ...own],
    ...(wantsJson ? { response_format: { type: 'json_object' } } : {}),
  };
}

/** The first choice; `undefined` without any. */
function choiceIn(answer: unknown): unknown {
  const choices = memberOf(answer, 'choices');
  return Array.isArray(choices) ? (choices[0] as unknown) : undefined;
}

function contentOf(choice: unknown): string | undefined {
  const content = memberOf(memberOf(choice, 'message'), 'content');
  return typeof content === 'string' ? content : undefined;
}

/** The content of a choice. Throws a `ProviderFailure` for a refusal and for another shape. */
function completionIn(choice: unknown): ChatCompletion {
  const reason = memberOf(choice, 'finish_reason');
  const refusal = memberOf(memberOf(choice, 'message'), 'refusal');
  if (reason === 'content_filter' || (typeof refusal === 'string' && refusal !== ''))
    throw new ProviderFailure('policy', 'content_refused', 'The provider refused the content.');
  const content = contentOf(choice);
  if (content === undefined) throw schemaFailure('unexpected_shape', 'The provider answered no message.');
  return { text: content, isWhole: reason !== 'length' };
}

function ranksIn(answer: unknown, count: number): readonly RankedDocument[] {
  const results = memberOf(answer, 'results');
  if (!Array.isArray(results) || results.length > count)
    throw schemaFailure('unexpected_shape', 'The provider answered no ranks.');
  const seen = new Set<number>();
  return results.map((each: unknown) => {
    const [index, score] = [memberOf(each, 'index'), memberOf(each, 'relevance_score')];
    const isPlace = typeof index === 'number' && Number.isInteger(index) && index >= 0 && index < count;
    if (!isPlace || seen.has(index))
      throw schemaFailure('rank_index', 'The provider ranked no document of the call, or one twice.');
    if (typeof score !== 'number' || !Number.isFinite(score))
      throw schemaFailure('rank_score', 'The provider answered a score that is no number.');
    seen.add(index);
    return { index, score };
  });
}
