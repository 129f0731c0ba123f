import type { Change, Run, StoredValue } from '../run.ts';

/** The payload of a later start, for a run that is still put off. */
export interface Replacement {
  readonly payload: StoredValue;
  readonly payloadHash: string;
  readonly quietMs: number;
}

/** Whether a later start with the same key may still replace the payload of the run: no worker has had it, and none may yet. @testonly */
export function isReplaceable(run: Run, now: number): boolean {
  const { status, wait, attempt, quietBy, scheduledAt, cancellationRequested } = run;
  const isPutOff = status === 'waiting' && wait === null && attempt === 0 && (scheduledAt ?? 0) > now;
  return isPutOff && quietBy !== undefined && !cancellationRequested;
}

/** When a run starts that is put off: after the quiet time, and never later than its first start has said. @testonly */
export function quietMoment(now: number, quietMs: number, quietBy: number): number {
  return Math.min(now + quietMs, quietBy);
}

/** Replaces payload and moment; `null` where the run has started or ended. */
export function replaceRun(
  run: Run,
  { payload, payloadHash, quietMs }: Replacement,
  now: number,
): Change | null {
  if (!isReplaceable(run, now) || run.quietBy === undefined) return null;
  const scheduledAt = quietMoment(now, quietMs, run.quietBy);
  const details = { payloadHash, replacedPayloadHash: run.payloadHash };
  return {
    run: { ...run, payload, payloadHash, scheduledAt },
    events: [{ type: 'run.replaced', details }],
  };
}

/** A start whose payload went into a run that another start had made. */
export interface JoinedStart {
  readonly keyHash: string;
  readonly runId: string;
  readonly payloadHash: string;
}

/** The starts that joined, the newest last and at most `max` of them. */
export function withJoined(
  joined: readonly JoinedStart[],
  start: JoinedStart | null,
  max: number,
): readonly JoinedStart[] {
  return start === null ? joined : [...joined, start].slice(-max);
}
