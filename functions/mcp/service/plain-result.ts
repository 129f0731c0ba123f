import type { JsonObject } from '../../kernel/canonical-json.ts';
import { formatUtc } from '../../kernel/timestamp.ts';
import type { McpTask, ToolResult } from '../catalog.ts';
import { cancelDefinition, getDefinition } from './plain-definitions.ts';

/**
 * A task as a result of a tool: the finished job, or the id to go on. The first text is the JSON of the values, for revisions without
 * structured content; the second says what a model can do next.
 */
export function plainResult(task: McpTask): ToolResult {
  if (task.status === 'completed') return task.result;
  const result = taskResult(task);
  return task.status === 'cancelled' || task.status === 'failed' ? { ...result, isError: true } : result;
}

/** The state of a task as a result, also of one that has a result. */
export function taskResult(task: McpTask): ToolResult {
  const { taskId, runId, status, statusMessage, _meta } = task;
  const values: JsonObject = {
    task: {
      taskId,
      ...(runId === undefined ? {} : { runId }),
      status,
      ...(statusMessage === undefined ? {} : { statusMessage }),
    },
  };
  return {
    resultType: 'complete',
    content: [
      { type: 'text', text: JSON.stringify(values) },
      { type: 'text', text: `${wordsOf(task)}${runWords(task)}` },
    ],
    structuredContent: values,
    ...(_meta === undefined ? {} : { _meta }),
  };
}

/** The id is one of the service's own: letters, digits and marks without a meaning to a model. */
function wordsOf(task: McpTask): string {
  const given = JSON.stringify({ taskId: task.taskId });
  if (task.status === 'completed')
    return `The work has ended. Call ${getDefinition.name} with ${given} for its result.`;
  if (task.status === 'cancelled') return 'The work was cancelled and has no result.';
  if (task.status === 'failed') return task.error.message;
  if (task.isBeingCancelled === true)
    return `A cancellation was requested, and the worker ends the work. Call ${getDefinition.name} with ${given} to wait for the end.`;
  if (task.beginsAt !== undefined)
    return `The work begins at ${formatUtc(task.beginsAt)}. Call ${getDefinition.name} with ${given} after that time to wait for its result, or ${cancelDefinition.name} with the same argument to cancel it.`;
  return `The work goes on. Call ${getDefinition.name} with ${given} to wait for its result, or ${cancelDefinition.name} with the same argument to end it.`;
}

/** A run has a second id, under which the tools for runs know it. */
function runWords({ runId }: McpTask): string {
  return runId === undefined ? '' : ` Tools for runs take its runId, which is ${JSON.stringify(runId)}.`;
}
