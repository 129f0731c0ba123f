import type { JsonValue } from '../../generated/models.ts';
import { type Duration, durationMs } from './durations.ts';
import { isSettled } from './entries.ts';
import type { Execution } from './execution.ts';
import { Stop } from './faults.ts';
import { type StandardSchema, validated } from './schema.ts';
import { jsonCopy } from './values.ts';

export interface EventOptions {
  /** Unlimited if absent. */
  readonly timeout?: Duration;
  /** The name of the event, where the operation has another name: parallel branches name theirs by parts. */
  readonly event?: string;
  /** Checks the payload. Another payload ends the run. */
  readonly schema?: StandardSchema;
}

/** Parks the run for a time, or until a moment. The first execution sets the moment. */
export function sleep(
  execution: Execution,
  name: string,
  time: Duration | { readonly until: Date },
): Promise<void> {
  const ms = typeof time === 'object' ? null : durationMs(time, 'The time of a sleep');
  const until = typeof time === 'object' ? time.until.getTime() : 0;
  if (Number.isNaN(until)) throw new TypeError('The moment of a sleep is no date.');
  return execution.operate('sleep', name, async ({ key, found, branch }) => {
    if (isSettled(found)) return;
    const entry = { k: key, t: 'sleep' } as const;
    const dueAt = found?.at ?? (ms === null ? until : execution.now() + ms);
    const open = found === undefined ? { ...entry, at: dueAt } : null;
    const settled = () => ({ ...entry, v: null, at: execution.now() });
    await execution.scheduler.wait({ kind: 'timer', name: key, dueAt, open, settled }, branch);
  });
}

/** The payload of the event, or `null` after the timeout. */
export function waitForEvent(
  execution: Execution,
  name: string,
  { timeout, schema, event = name }: EventOptions,
): Promise<unknown> {
  const ms = timeout === undefined ? null : durationMs(timeout, 'timeout');
  return execution.operate('event', name, async ({ key, found, branch }) => {
    const entry = { k: key, t: 'event' } as const;
    let value: JsonValue;
    if (isSettled(found)) value = await execution.valueOf(found);
    else {
      const dueAt = found === undefined ? (ms === null ? null : execution.now() + ms) : (found.at ?? null);
      const open = found === undefined ? { ...entry, ...(dueAt === null ? {} : { at: dueAt }) } : null;
      const settled = (end: { readonly payload: JsonValue } | null) => ({
        ...entry,
        v: end === null ? null : { payload: end.payload },
        at: execution.now(),
      });
      const end = await execution.scheduler.wait(
        { kind: 'event', name: event, dueAt, open, settled },
        branch,
      );
      value = end === null ? null : { payload: jsonCopy(end.payload) };
    }
    if (value === null) return null;
    const { payload } = value as { readonly payload: JsonValue };
    return schema === undefined
      ? payload
      : validated(schema, payload, (text) => new Stop(`The payload of "${name}" ${text}`));
  });
}
