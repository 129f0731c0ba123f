import type { JsonObject } from '../../kernel/canonical-json.ts';
import type { JsonMembers } from '../../kernel/json-kinds.ts';
import type { McpTask, ToolResult } from '../catalog.ts';
import { ErrorCode } from '../errors.ts';
import { DATA, resultOf, sentLength } from './bounded-result.ts';

/** How often a client should ask, in milliseconds. */
const POLL_MS = 1_000;
const MESSAGE_LENGTH_MAX = 200;

/** The answer of the operation that reads a run or a job. */
export interface JobAnswer {
  /** `null` where the answer is no object. */
  readonly view: JsonMembers | null;
  readonly text: string;
  /** Where REST answers it. */
  readonly path: string;
}

export interface TaskTerms {
  readonly lengthMax: number;
  /** The members that may be null in a result. */
  readonly nullable: ReadonlySet<string>;
  /** How long the service keeps a run at least after its end, in milliseconds; 0: it promises no time. */
  readonly retainedMsMin: number;
  readonly now: number;
}

type ReadableJob = JobAnswer & { readonly view: JsonMembers };

/** A run or a job, as its operation answers it, as a task. */
export function taskOf(taskId: string, answer: JobAnswer, terms: TaskTerms): McpTask {
  const { view } = answer;
  if (view === null || typeof view['status'] !== 'string') return unreadable(taskId, terms.now);
  const createdAt = momentOf(view, 'createdAtUtc', 'createdAt') ?? 0;
  const changedAt = momentOf(view, 'updatedAtUtc', 'completedAtUtc', 'completedAt', 'startedAt');
  // Jobs of providers write their statuses with a capital.
  const status = view['status'].toLowerCase();
  // A failed attempt that is tried again has no end yet.
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
 * How long the task is kept at least, counted from its creation. A run that is active is not removed, so for it the time after
 * its end begins now at the earliest. `null` where a number ends it and no time: refused starts, or no time that is promised.
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
 * The job as a result. A request about a task has no place for an offset, so a job that is too long comes without its largest
 * members that may be null, and says which those are and where the whole is. It stays too long where that does not suffice.
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

/** No later look would find it readable, so the client must not go on asking. */
function unreadable(taskId: string, now: number): McpTask {
  const error = { code: ErrorCode.internal, message: 'Internal error: the job cannot be read' };
  return { taskId, createdAt: now, lastUpdatedAt: now, ttlMs: null, status: 'failed', error };
}

/** The step that the handler names, marked as its text, as one line that hides nothing from a reader; else how far it is. */
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

/** The first of the members that holds a moment, in milliseconds of the Unix epoch. */
function momentOf(view: JsonMembers, ...names: readonly string[]): number | null {
  for (const name of names) {
    const moment = typeof view[name] === 'string' ? Date.parse(view[name]) : Number.NaN;
    if (!Number.isNaN(moment)) return moment;
  }
  return null;
}
