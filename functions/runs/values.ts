import { canonicalJson, type Json } from '../kernel/canonical-json.ts';
import type { KeyRequest, Write } from '../store/port.ts';
import { recordId } from '../store/record-id.ts';
import { valueKey, valueRecord } from './records.ts';
import type { InboxEvent, StoredValue } from './run.ts';
import type { Runtime } from './runtime.ts';

/** Larger payloads and results get a record of their own: a run record is rewritten with every change. */
const RUN_INLINE_BYTES_MAX = 16_384;

/** A run record contains all unconsumed events and its timer, so only small payloads of those stay inline. */
export const EVENT_INLINE_BYTES_MAX = 1_024;

/** A run has one payload, which is replaced only before its first attempt. */
export const PAYLOAD_VALUE = 'payload';

/** A run has one result at a time, so all its results share this name and one record. */
export const RESULT_VALUE = 'result';

/** A validated value with its size in bytes of canonical JSON. */
export interface NewValue {
  readonly json: Json;
  readonly bytes: number;
}

export interface PreparedValue {
  readonly value: StoredValue;
  /** Id of the value's record; empty for an inline value. */
  readonly record: string;
  readonly write: Write | null;
}

interface ValueOptions {
  readonly inlineBytesMax?: number;
  /** Distinguishes successive values that share one record. */
  readonly version?: string | null;
}

/** Keeps a small value inline and puts a large one into a record of its own. `name` is unique in the run. */
export function storedValue(
  runId: string,
  name: string,
  { json, bytes }: NewValue,
  { inlineBytesMax = RUN_INLINE_BYTES_MAX, version = null }: ValueOptions = {},
): PreparedValue {
  if (bytes <= inlineBytesMax) return { value: { json }, record: '', write: null };
  const record = recordId(runId, name);
  const text = canonicalJson(json);
  const named = { record, characters: text.length };
  return {
    value: version === null ? named : { ...named, version },
    record,
    write: { put: valueRecord(runId, record, text, version) },
  };
}

/** A result of a report or a completion; `null` for none. */
export function preparedResult(
  { ids }: Runtime,
  runId: string,
  value: NewValue | undefined,
): PreparedValue | null {
  return value === undefined ? null : storedValue(runId, RESULT_VALUE, value, { version: ids.next() });
}

/** An event for the inbox of a run; a large payload gets a record of its own. */
export function preparedEvent(
  { ids }: Runtime,
  runId: string,
  { name, payload, bytes }: { readonly name: string; readonly payload: Json; readonly bytes: number },
  now: number,
): { readonly event: InboxEvent; readonly value: PreparedValue } {
  const id = ids.next();
  const value = storedValue(
    runId,
    `event:${id}`,
    { json: payload, bytes },
    { inlineBytesMax: EVENT_INLINE_BYTES_MAX },
  );
  return { event: { id, name, raisedAt: now, payload: value.value }, value };
}

/** The keys that a transaction requests in order to write the value. */
export function valueKeys(value: PreparedValue | null, expectAbsent = true): KeyRequest[] {
  return value === null || value.write === null ? [] : [{ key: valueKey(value.record), expectAbsent }];
}

export function valueWrites(value: PreparedValue | null): Write[] {
  return value === null || value.write === null ? [] : [value.write];
}
