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
    about: 'the name of a task does not tell apart what is sent again',
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
  'lease-not-told-again': {
    about: 'who finds a renewed lease does not have its new end told of',
    message: (message, isAgain) => (isAgain && message.reason === 'lease_expired' ? null : message),
  },
  'moment-not-told-again': {
    about: 'who finds a schedule that is still far does not have it told of again',
    message: (message, isAgain) => (isAgain && message.reason === 'timer_due' ? null : message),
  },
  'schedule-uncapped': {
    about: 'a schedule is asked for that the service does not take',
    task(task) {
      const { scheduledAtUtc } = JSON.parse(task.httpRequest.body.toString()) as {
        readonly scheduledAtUtc: string | null;
      };
      const seconds = Math.ceil(Date.parse(scheduledAtUtc ?? '') / 1_000);
      return Number.isNaN(seconds) ? task : { ...task, scheduleTime: { seconds, nanos: 0 } };
    },
  },
  'never-redriven': {
    about: 'what is queued too long is not told of again',
    message: (message) => (message.repeatKey?.startsWith('redrive') === true ? null : message),
  },
  'key-not-offered': {
    about: 'who gives a concurrency key back tells nobody',
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
