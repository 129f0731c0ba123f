import type { JsonMembers } from '../kernel/json-kinds.ts';
import type { ResourceAnswer } from './catalog.ts';
import { ErrorCode, invalidParams, McpError } from './errors.ts';
import type { AnswerMethod, McpExchange } from './exchange.ts';
import { listResult } from './lists.ts';
import { inputRequiredResult, isRepeated } from './request-state.ts';
import { isOlder, type Revision } from './revisions.ts';

export const listResources: AnswerMethod = async (exchange) => {
  const { parts, context } = exchange;
  const resources = (await parts.catalog.resources?.list(context.caller)) ?? [];
  return listResult(
    exchange,
    'resources',
    resources.map(({ definition }) => definition),
    ({ uri }) => uri,
  );
};

export const listTemplates: AnswerMethod = async (exchange) => {
  const { parts, context } = exchange;
  const templates = (await parts.catalog.resources?.templates(context.caller)) ?? [];
  return listResult(
    exchange,
    'resourceTemplates',
    // Several items may answer addresses of one template.
    [...new Set(templates.map(({ definition }) => definition))],
    ({ uriTemplate }) => uriTemplate,
  );
};

export const readResource: AnswerMethod = async (exchange) => {
  const { uri } = exchange.call.params;
  if (typeof uri !== 'string') throw invalidParams('Invalid params: the uri is not a string');
  const answer = await answerOf(exchange, uri);
  // The caller gets the same error for a resource that it may not read.
  if (answer === null) throw resourceNotFound(uri, exchange.context.revision);
  if (answer.resultType === 'input_required') return inputRequiredResult(exchange, answer);
  return { resultType: 'complete', contents: answer.contents, ...cacheMembers(exchange, answer) };
};

function resourceNotFound(uri: string, revision: Revision): McpError {
  const code = isOlder(revision) ? ErrorCode.resourceNotFound : ErrorCode.invalidParams;
  return new McpError(code, 'Resource not found', { uri });
}

async function answerOf({ parts, context }: McpExchange, uri: string): Promise<ResourceAnswer | null> {
  const { resources } = parts.catalog;
  if (!resources) return null;
  const resource = (await resources.list(context.caller)).find(({ definition }) => definition.uri === uri);
  if (resource) {
    if (resource.operation !== undefined) context.matched(resource.operation);
    return resource.read(context);
  }
  for (const template of await resources.templates(context.caller)) {
    const answer = await template.read(uri, context);
    if (answer !== null) return answer;
  }
  return null;
}

/** A content that depends on answers of the client is valid for this call only. */
function cacheMembers(
  { call }: McpExchange,
  answer: ResourceAnswer & { resultType: 'complete' },
): JsonMembers {
  if (isRepeated(call)) return { ttlMs: 0, cacheScope: 'private' };
  return { ttlMs: answer.ttlMs, cacheScope: answer.cacheScope };
}
