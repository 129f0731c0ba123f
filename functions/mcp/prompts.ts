import type { JsonObject } from '../kernel/canonical-json.ts';
import { isJsonObject } from '../kernel/json-kinds.ts';
import type { McpPrompt } from './catalog.ts';
import { invalidParams } from './errors.ts';
import type { AnswerMethod, McpExchange } from './exchange.ts';
import { listResult } from './lists.ts';
import { inputRequiredResult } from './request-state.ts';

async function promptsOf({ parts, context }: McpExchange): Promise<readonly McpPrompt[]> {
  return (await parts.catalog.prompts?.(context.caller)) ?? [];
}

export const listPrompts: AnswerMethod = async (exchange) => {
  const definitions = (await promptsOf(exchange)).map(({ definition }) => definition);
  return listResult(exchange, 'prompts', definitions, ({ name }) => name);
};

export const getPrompt: AnswerMethod = async (exchange) => {
  const { name, arguments: given = {} } = exchange.call.params;
  if (typeof name !== 'string') throw invalidParams('Invalid params: the name is not a string');
  if (!isTexts(given)) throw invalidParams('Invalid params: the arguments are not an object of strings');
  const prompt = (await promptsOf(exchange)).find(({ definition }) => definition.name === name);
  if (!prompt) throw invalidParams('Invalid params: unknown prompt');
  const demanded = (prompt.definition.arguments ?? []).filter(({ required }) => required === true);
  if (demanded.some((argument) => !Object.hasOwn(given, argument.name)))
    throw invalidParams('Invalid params: a required argument is missing');
  const answer = await prompt.get(given, exchange.context);
  if (answer.resultType === 'input_required') return inputRequiredResult(exchange, answer);
  const { description, messages } = answer;
  return { resultType: 'complete', ...(description === undefined ? {} : { description }), messages };
};

function isTexts(value: unknown): value is Readonly<Record<string, string>> {
  return isJsonObject(value) && Object.values(value).every((each) => typeof each === 'string');
}

/** The most values that one answer may hold. */
const VALUES_MAX = 100;

export const complete: AnswerMethod = async ({ call, context, parts }) => {
  const { ref, argument } = call.params;
  if (!isJsonObject(ref) || !isJsonObject(argument))
    throw invalidParams('Invalid params: ref or argument is not an object');
  const { name, value } = argument;
  if (typeof name !== 'string' || typeof value !== 'string')
    throw invalidParams('Invalid params: the argument has no name or no value');
  const values =
    (await parts.catalog.complete?.({ ref: ref as JsonObject, argument: { name, value } }, context)) ?? [];
  return {
    resultType: 'complete',
    completion: {
      values: values.slice(0, VALUES_MAX),
      total: values.length,
      hasMore: values.length > VALUES_MAX,
    },
  };
};
