import type { protos } from '@google-cloud/tasks';
import { invalid } from './refusal.ts';

export type WireTimestamp = protos.google.protobuf.ITimestamp;
export type WireDuration = protos.google.protobuf.IDuration;

interface SecondsAndNanos {
  readonly seconds: number;
  readonly nanos: number;
}

/** Cut to microseconds, like all times of the protocol. */
export function timestampOf(ms: number): SecondsAndNanos {
  const micros = Math.round(ms * 1000);
  const seconds = Math.floor(micros / 1e6);
  return { seconds, nanos: (micros - seconds * 1e6) * 1000 };
}

export function durationOf(ms: number): SecondsAndNanos {
  const seconds = Math.floor(ms / 1000);
  return { seconds, nanos: Math.round((ms - seconds * 1000) * 1e6) };
}

/** Milliseconds since 1970. */
export function msOfTimestamp(value: WireTimestamp, field: string): number {
  const { seconds, nanos } = partsOf(value);
  if (!Number.isSafeInteger(seconds) || nanos < 0 || nanos > 999_999_999)
    throw invalid(`${field} is not a point in time.`);
  return seconds * 1000 + Math.floor(nanos / 1000) / 1000;
}

export function msOfDuration(value: WireDuration, field: string): number {
  const { seconds, nanos } = partsOf(value);
  if (!Number.isSafeInteger(seconds) || seconds < 0 || nanos < 0 || nanos > 999_999_999)
    throw invalid(`${field} must be a duration of 0 or more.`);
  return seconds * 1000 + nanos / 1e6;
}

function partsOf({ seconds, nanos }: WireTimestamp | WireDuration): SecondsAndNanos {
  return { seconds: Number(seconds ?? 0), nanos: nanos ?? 0 };
}
