import type { protos } from '@google-cloud/tasks';
import type { Lane } from './lane.ts';
import type { QueueRecord } from './model.ts';
import { checkLocationName, checkQueueName, locationOfQueue } from './names.ts';
import { pageOf } from './pages.ts';
import { settingsOf, settingsUpdated, type WireQueue } from './queue-settings.ts';
import { CallRefusal, invalid } from './refusal.ts';
import type { TasksState } from './tasks-state.ts';
import { queueView } from './wire-view.ts';

/** The queue calls. Each answers after the store has persisted its changes. */

const pageSizeMax = 9800;

export async function createQueue(
  state: TasksState,
  { parent, queue }: protos.google.cloud.tasks.v2.ICreateQueueRequest,
): Promise<WireQueue> {
  const location = checkLocationName(parent ?? '');
  const name = checkQueueName(queue?.name ?? '');
  if (locationOfQueue(name) !== location) throw invalid('The queue name does not lie within the parent.');
  const record = newQueue(name, queue ?? {});
  if (state.lanes.has(name)) throw new CallRefusal('alreadyExists', 'Queue already exists.');
  return settled(state, state.addQueue(record));
}

export async function getQueue(
  state: TasksState,
  { name }: protos.google.cloud.tasks.v2.IGetQueueRequest,
): Promise<WireQueue> {
  return settled(state, existing(state, name));
}

export async function listQueues(
  state: TasksState,
  request: protos.google.cloud.tasks.v2.IListQueuesRequest,
): Promise<protos.google.cloud.tasks.v2.IListQueuesResponse> {
  const scope = checkLocationName(request.parent ?? '');
  if (request.filter) throw new CallRefusal('unimplemented', 'The emulator lists queues without a filter.');
  const names = [...state.lanes.keys()].filter((name) => locationOfQueue(name) === scope).sort();
  const page = pageOf(request, { scope, items: names, key: (name) => name, sizeMax: pageSizeMax });
  await state.store.settled();
  const { items, nextPageToken } = page;
  return { queues: items.map((name) => queueView(state.lane(name).record)), nextPageToken };
}

/** Creates the queue if it does not exist. */
export async function updateQueue(
  state: TasksState,
  { queue, updateMask }: protos.google.cloud.tasks.v2.IUpdateQueueRequest,
): Promise<WireQueue> {
  const name = checkQueueName(queue?.name ?? '');
  const paths = updateMask?.paths ?? [];
  const current = state.lanes.get(name);
  const record = current?.record ?? newQueue(name, {});
  const updated = { ...record, ...settingsUpdated(record, queue ?? {}, paths) };
  if (current === undefined) return settled(state, state.addQueue(updated));
  state.putQueue(current, updated);
  return settled(state, current);
}

export async function deleteQueue(
  state: TasksState,
  { name }: protos.google.cloud.tasks.v2.IDeleteQueueRequest,
): Promise<object> {
  state.dropQueue(existing(state, name));
  await state.store.settled();
  return {};
}

export async function purgeQueue(
  state: TasksState,
  { name }: protos.google.cloud.tasks.v2.IPurgeQueueRequest,
): Promise<WireQueue> {
  const lane = existing(state, name);
  for (const task of lane.tasks.values()) state.endTask(lane, task);
  return change(state, lane, { purgedAt: state.now() });
}

export async function pauseQueue(
  state: TasksState,
  { name }: protos.google.cloud.tasks.v2.IPauseQueueRequest,
): Promise<WireQueue> {
  return change(state, existing(state, name), { state: 'PAUSED' });
}

export async function resumeQueue(
  state: TasksState,
  { name }: protos.google.cloud.tasks.v2.IResumeQueueRequest,
): Promise<WireQueue> {
  return change(state, existing(state, name), { state: 'RUNNING' });
}

function existing(state: TasksState, name: string | null | undefined): Lane {
  return state.lane(checkQueueName(name ?? ''));
}

function newQueue(name: string, queue: WireQueue): QueueRecord {
  return { name, state: 'RUNNING', ...settingsOf(queue), purgedAt: null };
}

function change(state: TasksState, lane: Lane, changed: Partial<QueueRecord>): Promise<WireQueue> {
  state.putQueue(lane, { ...lane.record, ...changed });
  return settled(state, lane);
}

async function settled(state: TasksState, lane: Lane): Promise<WireQueue> {
  const view = queueView(lane.record);
  await state.store.settled();
  return view;
}
