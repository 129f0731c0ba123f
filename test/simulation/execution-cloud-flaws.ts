import { readRun } from '../../functions/runs/records.ts';
import { type CloudFlaw, isBeingDelivered } from './execution-cloud-tasks.ts';
import type { ExecutionFlaw } from './execution-store-flaws.ts';
import { between } from './flaws.ts';

/** Bugs of a queue that delivers, planted on purpose. */
export const CLOUD_FLAWS: Readonly<Record<string, CloudFlaw & ExecutionFlaw>> = {
  'name-without-attempt': {
    about: 'the name of a task does not tell attempts apart',
    message: (message) => ({ ...message, attempt: 0 }),
  },
  'name-without-word': {
    about: 'the name of a task does not distinguish a repeated message',
    message: ({ repeatKey: _gone, ...message }) => message,
  },
  'name-without-moment': {
    about: 'the name of a task does not tell moments apart',
    task: (task) => ({ ...task, name: `${task.name.slice(0, -64)}${nameless(task.httpRequest.body)}` }),
  },
  'used-name-fails': {
    about: 'a task whose name is used counts as not sent',
    refusesUsedNames: true,
  },
  'lease-not-notified-again': {
    about: 'an instance that finds a renewed lease sends no message for its new end',
    message: (message, isAgain) => (isAgain && message.reason === 'lease_expired' ? null : message),
  },
  'moment-not-notified-again': {
    about: 'an instance that finds a schedule still in the future sends no message for it',
    message: (message, isAgain) => (isAgain && message.reason === 'timer_due' ? null : message),
  },
  'schedule-uncapped': {
    about: 'a message is scheduled later than the service allows',
    task(task) {
      const { scheduledAtUtc } = JSON.parse(task.httpRequest.body.toString()) as {
        readonly scheduledAtUtc: string | null;
      };
      const seconds = Math.ceil(Date.parse(scheduledAtUtc ?? '') / 1_000);
      return Number.isNaN(seconds) ? task : { ...task, scheduleTime: { seconds, nanos: 0 } };
    },
  },
  'never-redriven': {
    about: 'a run that is queued too long gets no second message',
    message: (message) => (message.repeatKey?.startsWith('redrive') === true ? null : message),
  },
  'key-not-offered': {
    about: 'an instance that frees a concurrency key sends no message to the next run',
    message: (message) => (/^\d+ (\d+|ended)$/.test(message.repeatKey ?? '') ? null : message),
  },
  'busy-is-done': {
    about: 'a worker without room answers that all is done',
    delivered: (delivered) => (delivered === 'busy' ? 'nothing' : delivered),
  },
  'nothing-fails': {
    about: 'a worker answers what it need not do as a failure',
    delivered: (delivered) => (delivered === 'nothing' ? 'busy' : delivered),
  },
  'held-is-had': {
    about: 'a delivery takes a run from the worker that holds it',
    wrap: between((record) => {
      if (record.key.collection !== 'runs' || typeof record.body !== 'string') return record;
      const run = readRun(record);
      if (run.status !== 'running' || !isBeingDelivered(run.id)) return record;
      const body = JSON.stringify({ ...run, status: 'queued', lease: null });
      return { ...record, head: { ...record.head, leaseExpiresAt: null }, body };
    }),
  },
};

/** As if the name were made of the run and the reason alone. */
function nameless(body: Buffer): string {
  const { runId, reason } = JSON.parse(body.toString()) as {
    readonly runId: string;
    readonly reason: string;
  };
  return `${runId}-${reason}`;
}
