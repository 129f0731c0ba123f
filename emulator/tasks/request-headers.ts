import type { TaskRecord } from './model.ts';
import { idOf, queueOfTask } from './names.ts';

// Fields that Cloud Tasks computes itself, and fields of the connection.
const replaced = new Set([
  'host',
  'content-length',
  'user-agent',
  'connection',
  'expect',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
const reserved = /^x-(?:google|appengine|cloudtasks)-/;

/** The header fields of one attempt of a task whose attempt has begun. `previous` is the task's state before it. */
export function requestHeaders(
  task: TaskRecord,
  previous: TaskRecord['progress'],
  token: string | null,
): Record<string, string> {
  const headers = Object.create(null) as Record<string, string>;
  for (const [name, value] of Object.entries(task.request.headers)) {
    const lower = name.toLowerCase();
    if (!replaced.has(lower) && !reserved.test(lower)) headers[lower] = value;
  }
  Object.assign(headers, {
    'user-agent': 'Google-Cloud-Tasks',
    'x-cloudtasks-queuename': idOf(queueOfTask(task.name)),
    'x-cloudtasks-taskname': idOf(task.name),
    'x-cloudtasks-taskretrycount': String(previous.attempts),
    'x-cloudtasks-taskexecutioncount': String(previous.executions),
    'x-cloudtasks-tasketa': (previous.scheduledAt / 1000).toFixed(6),
  });
  const outcome = previous.lastAttempt?.ended?.outcome;
  if (outcome !== undefined) {
    headers['x-cloudtasks-taskretryreason'] = outcome.message.replaceAll(/[^\x20-\x7e]/g, ' ');
    if (outcome.httpStatus !== null)
      headers['x-cloudtasks-taskpreviousresponse'] = String(outcome.httpStatus);
  }
  // Replaces an `authorization` of the task.
  if (token !== null) headers['authorization'] = `Bearer ${token}`;
  return headers;
}
