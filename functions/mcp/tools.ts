import type { JsonObject } from '../kernel/canonical-json.ts';
import { isJsonObject } from '../kernel/json-kinds.ts';
import { demandCapabilities, hasTasks, taskCapability } from './capabilities.ts';
import type { McpTool, ToolAnswer } from './catalog.ts';
import { invalidParams, McpError, missingCapability } from './errors.ts';
import type { AnswerMethod, McpExchange } from './exchange.ts';
import { listResult } from './lists.ts';
import { checkParameterHeaders, parameterHeadersOf } from './parameter-headers.ts';
import { refusalFor, toolError } from './refusals.ts';
import { inputRequiredResult } from './request-state.ts';
import { taskHead, toolResult } from './results.ts';
import { isOlder } from './revisions.ts';

/** A client of an older revision names no capabilities with its calls, so it does not see the tools that need one. */
async function toolsOf({ parts, context }: McpExchange): Promise<readonly McpTool[]> {
  const { tools, olderTools = tools } = parts.catalog;
  if (!isOlder(context.revision)) return (await tools?.(context.caller)) ?? [];
  return ((await olderTools?.(context.caller)) ?? []).filter(({ needs }) => needs === undefined);
}

/** The list does not depend on the client's capabilities, because caches do not include them in their keys. */
export const listTools: AnswerMethod = async (exchange) => {
  const listed = (await toolsOf(exchange)).filter(({ isUnlisted }) => isUnlisted !== true);
  const definitions = listed.map(({ definition }) => definition);
  return listResult(exchange, 'tools', definitions, ({ name }) => name);
};

export const callTool: AnswerMethod = async (exchange) => {
  const { call, context, fields, parts } = exchange;
  const { name, arguments: given = {} } = call.params;
  if (typeof name !== 'string') throw invalidParams('Invalid params: the name is not a string');
  if (!isJsonObject(given)) throw invalidParams('Invalid params: the arguments are not an object');
  const toolArguments = given as JsonObject;
  const tool = (await toolsOf(exchange)).find(({ definition }) => definition.name === name);
  // The caller gets the same error for a tool that it may not use.
  if (!tool) throw invalidParams('Invalid params: unknown tool');
  const { headers } = parameterHeadersOf(tool.definition.inputSchema);
  checkParameterHeaders(headers, toolArguments, fields, isOlder(context.revision));
  if (tool.operation !== undefined) context.matched(tool.operation);
  demandCapabilities(tool.needs ?? {}, context.capabilities);
  let answer: ToolAnswer;
  try {
    answer = await tool.call(toolArguments, context);
  } catch (error) {
    if (error instanceof McpError) throw error;
    exchange.refused(refusalFor(error));
    const inputSchema = tool.argumentsSchema ?? tool.definition.inputSchema;
    const called = { given: toolArguments, inputSchema };
    return toolResult(toolError(error, called, parts, context));
  }
  if (answer.resultType === 'input_required') return inputRequiredResult(exchange, answer);
  if (answer.resultType === 'complete') return toolResult(answer);
  if (!hasTasks(context.capabilities)) throw missingCapability(taskCapability);
  return { resultType: 'task', ...taskHead(answer.task) };
};
