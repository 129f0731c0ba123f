import type { McpCatalog } from './catalog.ts';
import { discover } from './discover.ts';
import type { AnswerMethod } from './exchange.ts';
import { complete, getPrompt, listPrompts } from './prompts.ts';
import { listResources, listTemplates, readResource } from './resources.ts';
import { listen } from './subscriptions.ts';
import { cancelTask, getTask, updateTask } from './tasks.ts';
import { callTool, listTools } from './tools.ts';

/** The methods of a catalog. The endpoint neither advertises nor answers the methods of an absent part. */
export function methodsOf({
  tools,
  resources,
  prompts,
  complete: completes,
  tasks,
}: McpCatalog): ReadonlyMap<string, AnswerMethod> {
  const methods: Readonly<Record<string, AnswerMethod>> = {
    'server/discover': discover,
    'subscriptions/listen': listen,
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
    ...(tasks ? { 'tasks/get': getTask, 'tasks/update': updateTask, 'tasks/cancel': cancelTask } : {}),
  };
  return new Map(Object.entries(methods));
}
