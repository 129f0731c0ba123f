import type { JsonMembers } from '../kernel/json-kinds.ts';
import { formatUtc } from '../kernel/timestamp.ts';
import type { McpTask, ToolResult } from './catalog.ts';
import { RUN_ID } from './names.ts';

/** The members of results. The endpoint copies them one by one, so that a handler cannot add others. */

export function toolResult({ content, structuredContent, isError, _meta }: ToolResult): JsonMembers {
  return {
    resultType: 'complete',
    content,
    ...(structuredContent === undefined ? {} : { structuredContent }),
    ...(isError === undefined ? {} : { isError }),
    ...(_meta === undefined ? {} : { _meta }),
  };
}

/** The members of every answer about a task. */
export function taskHead(task: McpTask): JsonMembers {
  const { runId, statusMessage, pollIntervalMs, _meta: given } = task;
  const marks = runId === undefined ? given : { ...given, [RUN_ID]: runId };
  return {
    taskId: task.taskId,
    status: task.status,
    ...(statusMessage === undefined ? {} : { statusMessage }),
    createdAt: formatUtc(task.createdAt),
    lastUpdatedAt: formatUtc(task.lastUpdatedAt),
    ttlMs: task.ttlMs,
    ...(pollIntervalMs === undefined ? {} : { pollIntervalMs }),
    ...(marks === undefined ? {} : { _meta: marks }),
  };
}

/** The head with the members of the task's status. */
export function wholeTask(task: McpTask): JsonMembers {
  const head = { resultType: 'complete', ...taskHead(task) };
  if (task.status === 'input_required') return { ...head, inputRequests: task.inputRequests };
  if (task.status === 'completed') return { ...head, result: toolResult(task.result) };
  return task.status === 'failed' ? { ...head, error: task.error } : head;
}
