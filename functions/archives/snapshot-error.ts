import { ServiceError } from '../kernel/errors.ts';

/**
 * - `malformed`: the bytes are not UTF-8, not canonical JSON, not whole lines, or not gzip.
 * - `newer_version`: a later release made it, whose format this release cannot read.
 * - `invalid`: a value breaks a rule of its model, or contradicts another.
 * - `over_limit`: a value is longer, larger or more numerous than its limit.
 * - `other_tenant`: the snapshot belongs to another tenant.
 * - `other_space`: the snapshot belongs to another space.
 * - `duplicate`: a record or an object occurs twice.
 * - `order`: a record comes after one that it must precede.
 * - `incomplete`: a line, an object or a record is missing.
 * - `hash_mismatch`: the content has another hash than the one that names it.
 * - `too_large`: the content exceeds the limit of a JSON snapshot; an archive has room for it.
 */
export type SnapshotFault =
  | 'malformed'
  | 'newer_version'
  | 'invalid'
  | 'over_limit'
  | 'other_tenant'
  | 'other_space'
  | 'duplicate'
  | 'order'
  | 'incomplete'
  | 'hash_mismatch'
  | 'too_large';

/** The place of a fault. Members that are not known are absent. */
export interface SnapshotPlace {
  /** Counted from 1, the head line included. */
  readonly line?: number;
  /** Name of the object of an archive, such as `chunk-000000.bin`. */
  readonly object?: string;
  /** JSON Pointer into the line, the manifest or the snapshot. */
  readonly pointer?: string;
}

/**
 * Refuses a snapshot or an archive. The message names the place and the rule, never a value, because values are a tenant's data.
 * It is no `ServiceError`: its status depends on the source of the snapshot, a request or the store.
 */
export class SnapshotError extends Error {
  readonly fault: SnapshotFault;
  readonly place: SnapshotPlace;
  /** The message without the place. */
  readonly detail: string;

  constructor(fault: SnapshotFault, detail: string, place: SnapshotPlace = {}) {
    super(`${placeText(place)}${detail}`);
    this.name = 'SnapshotError';
    this.fault = fault;
    this.place = place;
    this.detail = detail;
  }
}

function placeText({ object, line, pointer }: SnapshotPlace): string {
  const words = [object, line === undefined ? undefined : `line ${line}`, pointer || undefined];
  const known = words.filter((word) => word !== undefined);
  return known.length === 0 ? '' : `${known.join(' ')}: `;
}

const FAULTS: Readonly<Record<string, SnapshotFault>> = {
  malformed_request: 'malformed',
  limit_exceeded: 'over_limit',
  commit_too_large: 'over_limit',
  tenant_mismatch: 'other_tenant',
  duplicate_in_request: 'duplicate',
};

/** Returns the result of `check`. Turns a `ServiceError` that it throws into a `SnapshotError` at this place. */
export function placed<T>(place: SnapshotPlace, check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw inSnapshotWords(error, place);
  }
}

/** Turns a `ServiceError` into a `SnapshotError` at this place, and returns any other error unchanged. */
export function inSnapshotWords(error: unknown, place: SnapshotPlace): unknown {
  if (!(error instanceof ServiceError)) return error;
  const flaw = error.extensions.errors?.[0];
  const pointer = flaw?.pointer ?? place.pointer;
  return new SnapshotError(FAULTS[error.code] ?? 'invalid', flaw?.detail ?? error.message, {
    ...place,
    ...(pointer === undefined ? {} : { pointer }),
  });
}
