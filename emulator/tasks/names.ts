import { invalid } from './refusal.ts';

/** Resource names in the form that the comments of `queue.proto` and `task.proto` define. */

const location = 'projects/[A-Za-z0-9.:-]{1,100}/locations/[A-Za-z0-9-]{1,100}';
const queue = `${location}/queues/[A-Za-z0-9-]{1,100}`;
const locationName = new RegExp(`^${location}$`);
const queueName = new RegExp(`^${queue}$`);
const taskName = new RegExp(`^${queue}/tasks/[A-Za-z0-9_-]{1,500}$`);

export function checkLocationName(name: string): string {
  if (locationName.test(name)) return name;
  throw invalid('The parent must be projects/PROJECT_ID/locations/LOCATION_ID.');
}

export function checkQueueName(name: string): string {
  if (queueName.test(name)) return name;
  throw invalid(
    'The queue name must be projects/PROJECT_ID/locations/LOCATION_ID/queues/QUEUE_ID, with a QUEUE_ID of 1 to 100 ' +
      'letters, digits and hyphens.',
  );
}

export function checkTaskName(name: string): string {
  if (taskName.test(name)) return name;
  throw invalid(
    'The task name must be that of its queue followed by /tasks/TASK_ID, with a TASK_ID of 1 to 500 letters, digits, ' +
      'hyphens and underscores.',
  );
}

export function locationOfQueue(name: string): string {
  return name.slice(0, name.lastIndexOf('/queues/'));
}

export function queueOfTask(name: string): string {
  return name.slice(0, name.lastIndexOf('/tasks/'));
}

/** The last segment. */
export function idOf(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}
