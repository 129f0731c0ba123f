import { demandCapabilities, taskCapability } from './capabilities.ts';
import type { McpTasks } from './catalog.ts';
import { invalidParams, type McpError, unknownMethod } from './errors.ts';
import type { AnswerMethod, McpExchange } from './exchange.ts';
import { readInputResponses } from './request-state.ts';
import { wholeTask } from './results.ts';

export const getTask: AnswerMethod = async (exchange) => {
  const { tasks, taskId } = taskCall(exchange);
  const task = await tasks.get(taskId, exchange.context.caller, exchange.context);
  if (task === null) throw unknownTask();
  return wholeTask(task);
};

export const updateTask: AnswerMethod = async (exchange) => {
  const { tasks, taskId } = taskCall(exchange);
  const inputResponses = readInputResponses(exchange.call.params['inputResponses']);
  if (!(await tasks.update(taskId, inputResponses, exchange.context.caller, exchange.context)))
    throw unknownTask();
  return { resultType: 'complete' };
};

export const cancelTask: AnswerMethod = async (exchange) => {
  const { tasks, taskId } = taskCall(exchange);
  if (!(await tasks.cancel(taskId, exchange.context.caller, exchange.context))) throw unknownTask();
  return { resultType: 'complete' };
};

/** Checks the capability first, so that a client without it learns nothing about an id. */
function taskCall({ parts, call, context }: McpExchange): { tasks: McpTasks; taskId: string } {
  const { tasks } = parts.catalog;
  if (!tasks) throw unknownMethod();
  demandCapabilities(taskCapability, context.capabilities);
  const { taskId } = call.params;
  if (typeof taskId !== 'string') throw invalidParams('Invalid params: the task id is not a string');
  return { tasks, taskId };
}

/** The same error for a missing task and for a task of another caller. */
function unknownTask(): McpError {
  return invalidParams('Invalid params: unknown task');
}
