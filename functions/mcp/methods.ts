import type { McpCatalog } from './catalog.ts';
import { discover } from './discover.ts';
import type { AnswerMethod } from './exchange.ts';
import { answerPing, initialize } from './older/initialize.ts';
import { complete, getPrompt, listPrompts } from './prompts.ts';
import { listResources, listTemplates, readResource } from './resources.ts';
import { listen } from './subscriptions.ts';
import { cancelTask, getTask, updateTask } from './tasks.ts';
import { callTool, listTools } from './tools.ts';

/** The methods of a catalog. The endpoint neither advertises nor answers the methods of an absent part. */
export function methodsOf(catalog: McpCatalog): ReadonlyMap<string, AnswerMethod> {
  return mapOf({
    'server/discover': discover,
    'subscriptions/listen': listen,
    ...sharedMethodsOf(catalog),
    ...(catalog.tasks
      ? { 'tasks/get': getTask, 'tasks/update': updateTask, 'tasks/cancel': cancelTask }
      : {}),
  });
}

/** The methods of the catalog in older revisions, which have neither its tasks nor its subscriptions. */
export function olderMethodsOf(catalog: McpCatalog): ReadonlyMap<string, AnswerMethod> {
  return mapOf({ initialize, ping: answerPing, ...sharedMethodsOf(catalog) });
}

type Methods = Readonly<Record<string, AnswerMethod>>;

function mapOf(methods: Methods): ReadonlyMap<string, AnswerMethod> {
  return new Map(Object.entries(methods));
}

function sharedMethodsOf({ tools, resources, prompts, complete: completes }: McpCatalog): Methods {
  return {
    ...(tools ? { 'tools/list': listTools, 'tools/call': callTool } : {}),
    ...(resources
      ? {
          'resources/list': listResources,
          'resources/templates/list': listTemplates,
          'resources/read': readResource,
        }
      : {}),
    ...(prompts ? { 'prompts/list': listPrompts, 'prompts/get': getPrompt } : {}),
    ...(completes ? { 'completion/complete': complete } : {}),
  };
}
