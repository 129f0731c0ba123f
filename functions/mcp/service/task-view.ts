import type { JsonMembers } from '../../identity/oidc/json-object.ts';
import type { McpTask, ToolResult } from '../catalog.ts';
import { boundedResult } from './bounded-result.ts';

/** How often a client should ask, in milliseconds. */
const POLL_MS = 1_000;
const MESSAGE_LENGTH_MAX = 200;

/** A run or a job, as its operation answers it, as a task. */
export function taskOf(taskId: string, view: JsonMembers, text: string, lengthMax: number): McpTask {
  const createdAt = momentOf(view, 'createdAtUtc', 'createdAt') ?? 0;
  const changedAt = momentOf(view, 'updatedAtUtc', 'completedAtUtc', 'completedAt', 'startedAt');
  const head = {
    taskId,
    ...messageOf(view),
    createdAt,
    lastUpdatedAt: changedAt ?? createdAt,
    // The newest runs of a tenant are kept by their number, not by their age.
    ttlMs: null,
    pollIntervalMs: POLL_MS,
  };
  const { status } = view;
  // A failed attempt that is tried again has no end yet.
  const hasEnded = momentOf(view, 'completedAtUtc', 'completedAt') !== null;
  if (!hasEnded) return { ...head, status: 'working' };
  if (status === 'cancelled') return { ...head, status: 'cancelled' };
  const result: ToolResult = boundedResult(text, null, lengthMax);
  return { ...head, status: 'completed', result: { ...result, isError: status !== 'succeeded' } };
}

/** The step that the handler names, else how far it is. */
function messageOf({ currentStep, progress }: JsonMembers): { readonly statusMessage?: string } {
  if (typeof currentStep === 'string' && currentStep !== '')
    return { statusMessage: currentStep.slice(0, MESSAGE_LENGTH_MAX).toWellFormed() };
  return typeof progress === 'number' ? { statusMessage: `${Math.floor(progress * 100)} %` } : {};
}

/** The first of the members that holds a moment, in milliseconds of the Unix epoch. */
function momentOf(view: JsonMembers, ...names: readonly string[]): number | null {
  for (const name of names) {
    const moment = typeof view[name] === 'string' ? Date.parse(view[name]) : Number.NaN;
    if (!Number.isNaN(moment)) return moment;
  }
  return null;
}
