import type { JsonObject } from '../../kernel/canonical-json.ts';
import { isJsonObject } from '../../kernel/json-kinds.ts';
import type { ToolDefinition } from '../catalog.ts';

/** Tools for durable work as clients of older revisions see them, which cannot follow a task (decision 0042). */

/** The longest wait of one call, in seconds. Many clients give up on a call after 30 seconds or more. */
export const PLAIN_WAIT_SECONDS = 20;

/** The argument for a shorter wait. */
export const WAIT_ARGUMENT = 'waitSeconds';

const GET_TOOL = 'svc_tasks_get_v1';
const CANCEL_TOOL = 'svc_tasks_cancel_v1';

const TASK_WORDS = 'Runs as a task; its result is the finished job.';
const PLAIN_WORDS = `Waits up to ${PLAIN_WAIT_SECONDS} s for the end; ${GET_TOOL} waits on.`;

const task: JsonObject = {
  type: 'object',
  properties: { taskId: { type: 'string' }, runId: { type: 'string' }, status: { type: 'string' } },
};

/**
 * The definition without the words for tasks. Its answer is the finished job, or `task` with the id to go on. The job is described by its
 * first level, which leaves room in the list for two further tools.
 */
export function plainDefinition({
  description,
  inputSchema,
  outputSchema,
  ...rest
}: ToolDefinition): ToolDefinition {
  const properties = isJsonObject(outputSchema?.['properties']) ? outputSchema['properties'] : {};
  // The result of a job has no parts.
  const { part: _part, ...members } = properties;
  const ofJob = Object.entries(members).map(([name, schema]) => [name, firstLevel(schema as JsonObject)]);
  return {
    ...rest,
    description: description.replace(TASK_WORDS, PLAIN_WORDS),
    inputSchema: withPlainWait(inputSchema),
    outputSchema: { type: 'object', properties: { ...Object.fromEntries(ofJob), task } },
  };
}

/** A call without the argument waits the longest time, and not the time that the operation alone would wait. */
function withPlainWait(inputSchema: JsonObject): JsonObject {
  const properties = inputSchema['properties'];
  const wait = isJsonObject(properties) ? properties[WAIT_ARGUMENT] : undefined;
  if (!isJsonObject(wait)) return inputSchema;
  const plain = { ...wait, default: PLAIN_WAIT_SECONDS };
  return { ...inputSchema, properties: { ...(properties as JsonObject), [WAIT_ARGUMENT]: plain } };
}

function firstLevel({ type, enum: values }: JsonObject): JsonObject {
  return { ...(type === undefined ? {} : { type }), ...(values === undefined ? {} : { enum: values }) };
}

const taskId: JsonObject = { description: 'From the answer that began the work.', type: 'string' };

export const getDefinition: ToolDefinition = {
  name: GET_TOOL,
  title: 'Read a task',
  description: `Waits for the end of work that a tool began, and reads its result. Use it with the taskId of an answer whose work goes on, until the answer has no working task. To end the work use ${CANCEL_TOOL}.`,
  inputSchema: {
    type: 'object',
    properties: {
      taskId,
      [WAIT_ARGUMENT]: {
        description: 'Time to wait for the end, such as 5.',
        type: 'number',
        minimum: 0,
        maximum: PLAIN_WAIT_SECONDS,
        default: PLAIN_WAIT_SECONDS,
      },
    },
    required: ['taskId'],
    additionalProperties: false,
  },
  outputSchema: { type: 'object', properties: { task } },
  annotations: { readOnlyHint: true, openWorldHint: false },
};

export const cancelDefinition: ToolDefinition = {
  name: CANCEL_TOOL,
  title: 'Cancel a task',
  description: `Ends work that a tool began. What it has written stays. Work that has ended stays as it is; ${GET_TOOL} reads its result.`,
  inputSchema: { type: 'object', properties: { taskId }, required: ['taskId'], additionalProperties: false },
  outputSchema: { type: 'object', properties: { task } },
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
};
