import type { Caller } from '../../functions/identity/caller.ts';
import type { JsonObject } from '../../functions/kernel/canonical-json.ts';
import type { Clock } from '../../functions/kernel/world.ts';
import { hasTasks, taskCapability } from '../../functions/mcp/capabilities.ts';
import type {
  InputRequests,
  McpContext,
  McpTask,
  McpTasks,
  McpTool,
  ToolAnswer,
  ToolResult,
} from '../../functions/mcp/catalog.ts';
import { definitionOf, elicitation, textOf } from './acceptance-definitions.ts';

/** How a task ends, from the answers that it was given. */
type Ending = (inputResponses: Readonly<Record<string, JsonObject>>) => ToolResult | 'protocol error';

interface StoredTask {
  readonly taskId: string;
  readonly owner: string | null;
  readonly createdAt: number;
  readonly durationMs: number;
  readonly ending: Ending;
  open: InputRequests;
  answers: Readonly<Record<string, JsonObject>>;
  /** When the last change came, from which the duration counts. */
  changedAt: number;
  isCancelled: boolean;
}

/** Tasks in memory. They end by the clock; no timer runs. */
export class MemoryTasks implements McpTasks {
  readonly #tasks = new Map<string, StoredTask>();
  readonly #clock: Clock;
  readonly #newId: () => string;

  constructor(clock: Clock, newId: () => string) {
    this.#clock = clock;
    this.#newId = newId;
  }

  start(owner: Caller, durationMs: number, ending: Ending, open: InputRequests = {}): McpTask {
    const [taskId, createdAt] = [this.#newId(), this.#clock.now()];
    const task: StoredTask = {
      taskId,
      owner: owner.principal,
      createdAt,
      durationMs,
      ending,
      open,
      answers: {},
      changedAt: createdAt,
      isCancelled: false,
    };
    this.#tasks.set(taskId, task);
    return this.#view(task);
  }

  get(taskId: string, caller: Caller): Promise<McpTask | null> {
    const task = this.#find(taskId, caller);
    return Promise.resolve(task ? this.#view(task) : null);
  }

  update(
    taskId: string,
    inputResponses: Readonly<Record<string, JsonObject>>,
    caller: Caller,
  ): Promise<boolean> {
    const task = this.#find(taskId, caller);
    if (!task) return Promise.resolve(false);
    const answered = Object.entries(inputResponses).filter(([key]) => Object.hasOwn(task.open, key));
    task.answers = { ...task.answers, ...Object.fromEntries(answered) };
    task.open = Object.fromEntries(Object.entries(task.open).filter(([key]) => !task.answers[key]));
    if (answered.length > 0) task.changedAt = this.#clock.now();
    return Promise.resolve(true);
  }

  cancel(taskId: string, caller: Caller): Promise<boolean> {
    const task = this.#find(taskId, caller);
    if (task && !this.#isOver(task)) task.isCancelled = true;
    return Promise.resolve(task !== undefined);
  }

  #find(taskId: string, { principal }: Caller): StoredTask | undefined {
    const task = this.#tasks.get(taskId);
    return task?.owner === principal ? task : undefined;
  }

  #isOver({ open, changedAt, durationMs }: StoredTask): boolean {
    return Object.keys(open).length === 0 && this.#clock.now() >= changedAt + durationMs;
  }

  #view(task: StoredTask): McpTask {
    const { taskId, createdAt, changedAt, open } = task;
    const head = { taskId, createdAt, lastUpdatedAt: changedAt, ttlMs: 3_600_000, pollIntervalMs: 100 };
    if (task.isCancelled) return { ...head, status: 'cancelled' };
    if (Object.keys(open).length > 0) return { ...head, status: 'input_required', inputRequests: open };
    if (!this.#isOver(task)) return { ...head, status: 'working', statusMessage: 'computing' };
    const result = task.ending(task.answers);
    if (result !== 'protocol error') return { ...head, status: 'completed', result };
    return { ...head, status: 'failed', error: { code: -32603, message: 'Internal error' } };
  }
}

/** The tools of the scenarios about tasks. */
export function taskTools(tasks: MemoryTasks): readonly McpTool[] {
  const started = (
    context: McpContext,
    durationMs: number,
    ending: Ending,
    open?: InputRequests,
  ): Promise<ToolAnswer> =>
    Promise.resolve({ resultType: 'task', task: tasks.start(context.caller, durationMs, ending, open) });
  return [
    {
      definition: definitionOf('slow_compute', {
        type: 'object',
        properties: { seconds: { type: 'number' }, label: { type: 'string' } },
      }),
      call: ({ seconds = 0, label = '' }, context) => {
        const result = textOf(`computed ${JSON.stringify(label)}`);
        if (!hasTasks(context.capabilities)) return Promise.resolve(result);
        return started(context, Number(seconds) * 1000, () => result);
      },
    },
    {
      definition: definitionOf('failing_job'),
      needs: taskCapability,
      call: (_, context) => started(context, 1000, () => ({ ...textOf('it failed'), isError: true })),
    },
    {
      definition: definitionOf('protocol_error_job'),
      needs: taskCapability,
      call: (_, context) => started(context, 0, () => 'protocol error'),
    },
    {
      definition: definitionOf('confirm_delete', {
        type: 'object',
        properties: { filename: { type: 'string' } },
      }),
      call: (_, context) => {
        if (!hasTasks(context.capabilities)) return Promise.resolve(textOf('nothing deleted'));
        const open = { confirm: elicitation('Really delete?', 'confirm', 'boolean') };
        return started(context, 0, ({ confirm }) => textOf(`confirmed: ${JSON.stringify(confirm)}`), open);
      },
    },
    {
      definition: definitionOf('multi_input'),
      needs: taskCapability,
      call: (_, context) =>
        started(context, 0, (answers) => textOf(`answered: ${Object.keys(answers).sort().join(' ')}`), {
          first: elicitation('First?', 'value'),
          second: elicitation('Second?', 'value'),
        }),
    },
    {
      definition: definitionOf('test_tool_with_task'),
      needs: taskCapability,
      call: (_, context) => {
        const { user_name: named } = context.inputResponses;
        if (named) return started(context, 0, () => textOf(`for ${JSON.stringify(named['content'])}`));
        const inputRequests = { user_name: elicitation('What is your name?', 'name') };
        return Promise.resolve({ resultType: 'input_required', inputRequests, requestState: 'asked' });
      },
    },
  ];
}
