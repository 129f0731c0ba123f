import type { protos } from '@google-cloud/tasks';
import type { RandomSource } from '../../functions/kernel/world.ts';
import type { HeldTask, Lane } from './lane.ts';
import { checkQueueName, checkTaskName, queueOfTask } from './names.ts';
import { pageOf } from './pages.ts';
import { CallRefusal, invalid } from './refusal.ts';
import { newProgress } from './task-life.ts';
import { scheduledAtOf, targetRequestOf, type WireTask } from './task-request.ts';
import type { TasksState } from './tasks-state.ts';
import { taskView } from './wire-view.ts';

/** The task calls. Each answers after the store has persisted its changes. */

const pageSizeMax = 1000;
// A full view has bodies of up to 1 MiB, and a client accepts messages of 4 MiB by default.
const pageBytesMax = 3 * 1024 * 1024;

/** Send a task only after it is persisted: otherwise a task could run although its creation failed. */
export async function createTask(
  state: TasksState,
  { parent, task: given, responseView }: protos.google.cloud.tasks.v2.ICreateTaskRequest,
): Promise<WireTask> {
  const queue = checkQueueName(parent ?? '');
  const now = state.now();
  const wanted = given?.name ? checkTaskName(given.name) : null;
  if (wanted !== null && queueOfTask(wanted) !== queue)
    throw invalid('The task name does not lie within the parent.');
  const request = targetRequestOf(given ?? {});
  const scheduledAt = scheduledAtOf(given ?? {}, now);
  const lane = state.lane(queue);
  const name = wanted ?? freeName(state, lane);
  if (state.isTaken(lane, name))
    throw new CallRefusal(
      'alreadyExists',
      'The task cannot be created because a task with this name exists, or existed too recently.',
    );
  const task = state.addTask(lane, { name, createdAt: now, request, progress: newProgress(scheduledAt) });
  const view = taskView(task.record, responseView);
  await state.store.settled();
  if (!task.gone && task.record.progress.attempts === 0) state.dispatcher.schedule(lane, task);
  return view;
}

export async function getTask(
  state: TasksState,
  { name, responseView }: protos.google.cloud.tasks.v2.IGetTaskRequest,
): Promise<WireTask> {
  const view = taskView(existing(state, name).task.record, responseView);
  await state.store.settled();
  return view;
}

export async function listTasks(
  state: TasksState,
  request: protos.google.cloud.tasks.v2.IListTasksRequest,
): Promise<protos.google.cloud.tasks.v2.IListTasksResponse> {
  const scope = checkQueueName(request.parent ?? '');
  const full = request.responseView === 'FULL';
  const { items, nextPageToken } = pageOf(request, {
    scope,
    items: state.tasks(state.lane(scope)),
    key: ({ record }) => record.number,
    sizeMax: pageSizeMax,
    bytes: { of: (task) => bytesOf(task, full), max: pageBytesMax },
  });
  const tasks = items.map(({ record }) => taskView(record, request.responseView));
  await state.store.settled();
  return { tasks, nextPageToken };
}

export async function deleteTask(
  state: TasksState,
  { name }: protos.google.cloud.tasks.v2.IDeleteTaskRequest,
): Promise<object> {
  const { lane, task } = existing(state, name);
  state.endTask(lane, task);
  await state.store.settled();
  return {};
}

/** Sends the task regardless of its queue's state and answers with the task before its target has answered. */
export async function runTask(
  state: TasksState,
  { name, responseView }: protos.google.cloud.tasks.v2.IRunTaskRequest,
): Promise<WireTask> {
  const { lane, task } = existing(state, name);
  lane.withdraw(task);
  state.dispatcher.attempt(lane, task, state.now());
  const view = taskView(task.record, responseView);
  await state.store.settled();
  return view;
}

function existing(
  state: TasksState,
  name: string | null | undefined,
): { readonly lane: Lane; readonly task: HeldTask } {
  return state.task(checkTaskName(name ?? ''));
}

function freeName(state: TasksState, lane: Lane): string {
  for (;;) {
    const name = `${lane.record.name}/tasks/${newTaskId(state.world.random)}`;
    if (!state.isTaken(lane, name)) return name;
  }
}

/** Twenty digits, as Cloud Tasks makes them. */
function newTaskId(random: RandomSource): string {
  return Buffer.from(random.bytes(8)).readBigUInt64BE().toString().padStart(20, '0');
}

function bytesOf({ record }: HeldTask, full: boolean): number {
  const { url, headers, body } = record.request;
  const fixed = 1024 + url.length + Buffer.byteLength(Object.entries(headers).join());
  return fixed + (full ? (body?.byteLength ?? 0) : 0);
}
