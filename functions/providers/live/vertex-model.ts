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
import type { LiveModel } from './model.ts';

export interface VertexModelOptions {
  readonly project: string;
  /** A region, or `global`. */
  readonly location: string;
  readonly modelId: string;
  readonly outputTokensMax: number;
  /** The header fields that authenticate the service. */
  readonly credentials: () => Promise<Headers>;
  /** Another server that speaks this API. */
  readonly endpoint?: string;
}

/**
 * A Gemini model of Google Vertex AI, by its `generateContent` operation
 * (https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference).
 */
export function vertexModel(
  world: World,
  options: VertexModelOptions,
): Required<Pick<LiveModel, 'complete'>> {
  const { outputTokensMax, credentials } = options;
  const url = addressOf(options);
  return {
    async complete(prompt, bounds) {
      const body = bodyOf(prompt, outputTokensMax);
      const { answerBytesMax } = bounds;
      const headers = await credentials();
      const secret = headers.get('authorization')?.replace(/^Bearer /i, '') ?? null;
      const answer = await callProvider(world, { url, headers, body, answerBytesMax }, bounds);
      const candidate = candidateIn(answer);
      const reported = memberOf(answer, 'usageMetadata');
      const usage = usageOf(
        {
          input: memberOf(reported, 'promptTokenCount'),
          output: sumOf(memberOf(reported, 'candidatesTokenCount'), memberOf(reported, 'thoughtsTokenCount')),
        },
        { input: bytesOf(body['contents']), output: bytesOf(textIn(candidate)) },
        {
          input: inputTokensMax(bytesOf(body), prompt.messages.length),
          output: outputTokensBound(outputTokensMax),
        },
      );
      bounds.took?.(usage);
      const { text, isWhole } = completionIn(answer, candidate);
      return { value: { text: withoutSecret(text, secret), isWhole }, usage, secret };
    },
  };
}

function bodyOf({ system, messages, wantsJson }: ChatPrompt, maxOutputTokens: number): JsonObject {
  // Instructions among the messages have no place of their own in this API.
  const rules = messages.filter(({ role }) => role === 'system').map(({ content }) => content);
  const instructions = [...(system === null || system === '' ? [] : [system]), ...rules];
  return {
    contents: messages
      .filter(({ role }) => role !== 'system')
      .map(({ role, content }) => ({
        role: role === 'assistant' ? 'model' : 'user',
        parts: [{ text: content }],
      })),
    ...(instructions.length === 0
      ? {}
      : { systemInstruction: { parts: instructions.map((text) => ({ text })) } }),
    generationConfig: {
      candidateCount: 1,
      maxOutputTokens,
      ...(wantsJson ? { responseMimeType: 'application/json' } : {}),
    },
  };
}

const refusals: ReadonlySet<unknown> = new Set([
  'SAFETY',
  'RECITATION',
  'LANGUAGE',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
]);

/** The first candidate; `undefined` without any. */
function candidateIn(answer: unknown): unknown {
  const candidates = memberOf(answer, 'candidates');
  return Array.isArray(candidates) ? (candidates[0] as unknown) : undefined;
}

/** The text without the model's thoughts; `undefined` without a text. */
function textIn(candidate: unknown): string | undefined {
  const parts = memberOf(memberOf(candidate, 'content'), 'parts');
  const texts: unknown[] = Array.isArray(parts)
    ? parts.filter((each) => memberOf(each, 'thought') !== true).map((each) => memberOf(each, 'text'))
    : [];
  return texts.length > 0 && texts.every((each) => typeof each === 'string') ? texts.join('') : undefined;
}

/** The text of a candidate. Throws a `ProviderFailure` for a refusal and for another shape. */
function completionIn(answer: unknown, candidate: unknown): ChatCompletion {
  const reason = memberOf(candidate, 'finishReason');
  const blocked = memberOf(memberOf(answer, 'promptFeedback'), 'blockReason');
  if (refusals.has(reason) || typeof blocked === 'string')
    throw new ProviderFailure('policy', 'content_refused', 'The provider refused the content.');
  const text = textIn(candidate);
  if (text === undefined) throw schemaFailure('unexpected_shape', 'The provider answered no text.');
  return { text, isWhole: reason !== 'MAX_TOKENS' };
}

/** Thoughts are paid for as output. */
function sumOf(output: unknown, thoughts: unknown): unknown {
  return typeof output === 'number' && typeof thoughts === 'number' ? output + thoughts : output;
}

function addressOf({ project, location, modelId, endpoint }: VertexModelOptions): string {
  const host = location === 'global' ? 'aiplatform' : `${location}-aiplatform`;
  const [ownProject, ownLocation, model] = [project, location, modelId].map(encodeURIComponent);
  const path = `projects/${ownProject}/locations/${ownLocation}/publishers/google/models/${model}:generateContent`;
  return `${endpoint ?? `https://${host}.googleapis.com`}/v1/${path}`;
}
