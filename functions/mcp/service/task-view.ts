import type { JsonObject } from '../../kernel/canonical-json.ts';
import type { JsonMembers } from '../../kernel/json-kinds.ts';
import { formatUtc } from '../../kernel/timestamp.ts';
import type { McpTask } from '../catalog.ts';
import { ErrorCode } from '../errors.ts';
import { DATA } from './bounded-result.ts';
import { type JobAnswer, type JobTerms, jobResult } from './job-result.ts';
import { plainLine } from './job-text.ts';

/** Recommended time between two polls of a client, in milliseconds. */
const POLL_MS = 1_000;
const MESSAGE_LENGTH_MAX = 200;

export interface TaskTerms extends JobTerms {
  /** Minimum time from the end of a run to its removal, in milliseconds; 0: no guaranteed time. */
  readonly retainedMsMin: number;
  readonly now: number;
}

/** Converts the answer about a run or a job to a task. */
export function taskOf(taskId: string, answer: JobAnswer, terms: TaskTerms): McpTask {
  const { view } = answer;
  if (view === null || typeof view['status'] !== 'string') return unreadable(taskId, terms.now);
  const createdAt = momentOf(view, 'createdAtUtc', 'createdAt') ?? 0;
  const changedAt = momentOf(view, 'updatedAtUtc', 'completedAtUtc', 'completedAt', 'startedAt');
  // The statuses of provider jobs begin with a capital letter.
  const status = view['status'].toLowerCase();
  // A failed attempt that will be retried has no end yet.
  const endedAt = momentOf(view, 'completedAtUtc', 'completedAt');
  const head = {
    taskId,
    createdAt,
    lastUpdatedAt: changedAt ?? createdAt,
    ttlMs: ttlOf(createdAt, endedAt, status, terms),
    pollIntervalMs: POLL_MS,
  };
  if (endedAt === null)
    return { ...head, ...messageOf(view), ...beginOf(view, terms.now), status: 'working' };
  if (status === 'cancelled') return { ...head, status: 'cancelled' };
  const result = jobResult({ ...answer, view: view as JsonObject }, terms);
  return {
    ...head,
    status: 'completed',
    result: status === 'succeeded' ? result : { ...result, isError: true },
  };
}

/**
 * Minimum time from the creation of the task to its removal. An active run is not removed, so its time after the end begins now at
 * the earliest. `null` if no time is guaranteed, as for rejected runs, whose number is limited and not their age.
 */
function ttlOf(
  createdAt: number,
  endedAt: number | null,
  status: string,
  { retainedMsMin, now }: TaskTerms,
): number | null {
  if (retainedMsMin === 0 || status === 'rejected') return null;
  return Math.max(0, (endedAt ?? now) - createdAt) + retainedMsMin;
}

/** A failed task: the job will not become readable, so the client should stop polling. */
function unreadable(taskId: string, now: number): McpTask {
  const error = { code: ErrorCode.internal, message: 'Internal error: the job cannot be read' };
  return { taskId, createdAt: now, lastUpdatedAt: now, ttlMs: null, status: 'failed', error };
}

/** The planned begin of a run that was never leased. Later the same member is the end of a pause, which an event may shorten. */
function beginOf(view: JsonMembers, now: number): Pick<McpTask, 'beginsAt' | 'statusMessage'> {
  const beginsAt = view['attempt'] === 0 ? momentOf(view, 'scheduledAtUtc') : null;
  if (beginsAt === null || beginsAt <= now) return {};
  return { beginsAt, statusMessage: `The work begins at ${formatUtc(beginsAt)}.` };
}

type Message = Pick<McpTask, 'statusMessage' | '_meta' | 'isBeingCancelled'>;

/**
 * An accepted cancellation; else the handler's current step as one line without hidden characters, marked as data; without a step, the
 * progress in percent.
 */
function messageOf({ cancellationRequested, currentStep, progress }: JsonMembers): Message {
  if (cancellationRequested === true)
    return { statusMessage: 'A cancellation was requested.', isBeingCancelled: true };
  const step = typeof currentStep === 'string' ? plainLine(currentStep, MESSAGE_LENGTH_MAX) : '';
  if (step !== '') return { statusMessage: step, _meta: DATA };
  return typeof progress === 'number' ? { statusMessage: `${Math.floor(progress * 100)} %` } : {};
}

/** The time in the first of the members that holds one, in milliseconds of the Unix epoch. */
function momentOf(view: JsonMembers, ...names: readonly string[]): number | null {
  for (const name of names) {
    const moment = typeof view[name] === 'string' ? Date.parse(view[name]) : Number.NaN;
    if (!Number.isNaN(moment)) return moment;
  }
  return null;
}
