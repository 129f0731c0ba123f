import type { JsonObject } from '../../kernel/canonical-json.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Clock } from '../../kernel/world.ts';
import type { McpContext, McpTool } from '../catalog.ts';
import { McpError } from '../errors.ts';
import { checkArguments } from './check-arguments.ts';
import {
  cancelDefinition,
  getDefinition,
  PLAIN_WAIT_SECONDS,
  plainDefinition,
  WAIT_ARGUMENT,
} from './plain-definitions.ts';
import { plainResult, taskResult } from './plain-result.ts';
import type { RunTasks } from './run-tasks.ts';

/** The tool for clients that cannot follow a task: it waits for the end, and answers the result or the id to go on. */
export function plainTool({ needs: _needs, ...tool }: McpTool, { tasks, clock }: PlainTasks): McpTool {
  return {
    ...tool,
    definition: plainDefinition(tool.definition),
    async call(given, context) {
      const begunAt = clock.now();
      const answer = await tool.call(withoutWait(given), context);
      if (answer.resultType !== 'task') return answer;
      const { task } = answer;
      const waitMs = waitMsOf(given) - (clock.now() - begunAt);
      if (task.status !== 'working' || waitMs <= 0) return plainResult(task);
      // The work has begun, so a failed read must not look like a refused start.
      const seen = await tasks.ended(task.taskId, waitMs, context).catch(() => null);
      if (tool.operation !== undefined) context.matched(tool.operation);
      return plainResult(seen ?? task);
    },
  };
}

/** The operation itself does not wait: it does not know that the work is planned for later. It refuses a wait out of bounds. */
function withoutWait(given: JsonObject): JsonObject {
  const seconds = given[WAIT_ARGUMENT];
  return typeof seconds === 'number' && isWait(seconds) ? { ...given, [WAIT_ARGUMENT]: 0 } : given;
}

function isWait(seconds: number): boolean {
  return seconds >= 0 && seconds <= PLAIN_WAIT_SECONDS;
}

interface PlainTasks {
  readonly tasks: RunTasks;
  readonly clock: Clock;
}

/** The tools that go on with a task, under the rights of `tasks/get` and `tasks/cancel`. */
export function goingOnTools(tasks: RunTasks): readonly McpTool[] {
  return [
    {
      definition: getDefinition,
      async call(given, context) {
        const taskId = taskIdOf(given, getDefinition.inputSchema);
        const task = await tasks.ended(taskId, waitMsOf(given), context);
        if (task === null) throw unknownTask();
        return plainResult(task);
      },
    },
    {
      definition: cancelDefinition,
      async call(given, context) {
        const taskId = taskIdOf(given, cancelDefinition.inputSchema);
        if (!(await cancelled(tasks, taskId, context))) throw unknownTask();
        const task = await tasks.get(taskId, context.caller, context);
        if (task === null) throw unknownTask();
        return taskResult(task);
      },
    },
  ];
}

/** A refusal of the protocol becomes one that the model sees. */
async function cancelled(tasks: RunTasks, taskId: string, context: McpContext): Promise<boolean> {
  try {
    return await tasks.cancel(taskId, context.caller, context);
  } catch (error) {
    if (!(error instanceof McpError)) throw error;
    throw new ServiceError('permission_denied', 'The caller may not cancel this task.', {}, { cause: error });
  }
}

function taskIdOf(given: JsonObject, schema: JsonObject): string {
  checkArguments(given, schema);
  checkWait(given[WAIT_ARGUMENT]);
  return given['taskId'] as string;
}

const TASK_ID_WORDS =
  'A taskId comes from the answer that began the work. A runId is no taskId: svc_execution_get_run_v1 takes it.';

/** No operation behind these tools checks the bounds of the schema. */
function checkWait(seconds: unknown): void {
  if (typeof seconds !== 'number' || isWait(seconds)) return;
  const detail = `must be from 0 to ${PLAIN_WAIT_SECONDS}`;
  const errors = [{ pointer: `/${WAIT_ARGUMENT}`, detail }];
  throw new ServiceError('validation_failed', `The arguments are not valid: ${detail}`, { errors });
}

/** The same words for a missing task and for a task of another caller. */
function unknownTask(): ServiceError {
  return new ServiceError('not_found', `There is no such task. ${TASK_ID_WORDS}`);
}

/** The wait that the arguments ask for, else the longest. */
function waitMsOf(given: JsonObject): number {
  const asked = Object.hasOwn(given, WAIT_ARGUMENT) ? given[WAIT_ARGUMENT] : undefined;
  const seconds = typeof asked === 'number' ? Math.max(0, asked) : PLAIN_WAIT_SECONDS;
  return Math.min(PLAIN_WAIT_SECONDS, seconds) * 1_000;
}
