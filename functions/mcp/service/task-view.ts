import type { JsonObject } from '../../kernel/canonical-json.ts';
import type { JsonMembers } from '../../kernel/json-kinds.ts';
import type { McpTask, ToolResult } from '../catalog.ts';
import { ErrorCode } from '../errors.ts';
import { DATA, resultOf, sentLength } from './bounded-result.ts';

/** Recommended time between two polls of a client, in milliseconds. */
const POLL_MS = 1_000;
const MESSAGE_LENGTH_MAX = 200;

/** The answer of the operation that reads a run or a job. */
export interface JobAnswer {
  /** `null` if the answer is no object. */
  readonly view: JsonMembers | null;
  readonly text: string;
  /** The path of the run or job over REST. */
  readonly path: string;
}

export interface TaskTerms {
  readonly lengthMax: number;
  /** The members that may be null in a result. */
  readonly nullable: ReadonlySet<string>;
  /** Minimum time from the end of a run to its removal, in milliseconds; 0: no guaranteed time. */
  readonly retainedMsMin: number;
  readonly now: number;
}

type ReadableJob = JobAnswer & { readonly view: JsonMembers };

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
  if (endedAt === null) return { ...head, ...messageOf(view), status: 'working' };
  if (status === 'cancelled') return { ...head, status: 'cancelled' };
  const result = resultWithin({ ...answer, view }, terms);
  return { ...head, status: 'completed', result: { ...result, isError: status !== 'succeeded' } };
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

/**
 * The job as a result. Requests about tasks have no offset, so a job that is too long loses its largest nullable members; the result
 * names them and the path of the whole job. If that does not suffice, the result stays too long.
 */
function resultWithin({ view, text, path }: ReadableJob, { lengthMax, nullable }: TaskTerms): ToolResult {
  if (sentLength(text, lengthMax) <= lengthMax) return resultOf(view as JsonObject, text);
  const lengths = Object.entries(view).map(([name, value]) => ({
    name,
    length: JSON.stringify(JSON.stringify(value)).length - 2,
  }));
  let length = lengths.reduce((sum, each) => sum + each.name.length + each.length + 6, 4);
  const omitted = new Set<string>();
  const candidates = lengths.filter((each) => nullable.has(each.name) && each.length > 'null'.length);
  for (const each of candidates.sort((one, other) => other.length - one.length)) {
    if (length <= lengthMax) break;
    omitted.add(each.name);
    length += 'null'.length - each.length;
  }
  const members = Object.entries(view).map(([name, value]) => [name, omitted.has(name) ? null : value]);
  const rest = Object.fromEntries(members) as JsonObject;
  const tooLong = length > lengthMax ? { tooLong: true } : {};
  const note: JsonObject = { omitted: [...omitted], wholeAt: path, length: text.length, ...tooLong };
  const { content, _meta, ...result } = resultOf(rest, JSON.stringify(rest));
  return {
    ...result,
    content: [...content, { type: 'text', text: JSON.stringify(note) }],
    _meta: { ..._meta, 'svc.runtime/omitted': note },
  };
}

/** A failed task: the job will not become readable, so the client should stop polling. */
function unreadable(taskId: string, now: number): McpTask {
  const error = { code: ErrorCode.internal, message: 'Internal error: the job cannot be read' };
  return { taskId, createdAt: now, lastUpdatedAt: now, ttlMs: null, status: 'failed', error };
}

/** The handler's current step as one line without hidden characters, marked as data; without a step, the progress in percent. */
function messageOf({ currentStep, progress }: JsonMembers): Pick<McpTask, 'statusMessage' | '_meta'> {
  const step = typeof currentStep === 'string' ? plainLineOf(currentStep) : '';
  if (step !== '') return { statusMessage: step, _meta: DATA };
  return typeof progress === 'number' ? { statusMessage: `${Math.floor(progress * 100)} %` } : {};
}

function plainLineOf(text: string): string {
  return text
    .slice(0, 4 * MESSAGE_LENGTH_MAX)
    .toWellFormed()
    .replace(/[\p{Zl}\p{Zp}\s]+/gu, ' ')
    .replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cn}]/gu, '')
    .trim()
    .slice(0, MESSAGE_LENGTH_MAX)
    .toWellFormed();
}

/** The time in the first of the members that holds one, in milliseconds of the Unix epoch. */
function momentOf(view: JsonMembers, ...names: readonly string[]): number | null {
  for (const name of names) {
    const moment = typeof view[name] === 'string' ? Date.parse(view[name]) : Number.NaN;
    if (!Number.isNaN(moment)) return moment;
  }
  return null;
}
