import { ServiceError } from '../kernel/errors.ts';

/**
 * - `malformed`: the bytes are not what this format writes: not UTF-8, not canonical JSON, not whole lines, not gzip.
 * - `newer_version`: made by a later release, whose rules are not known here.
 * - `invalid`: a value breaks a rule of its model, or contradicts another.
 * - `over_limit`: a value is longer, larger or more numerous than its limit.
 * - `other_tenant`: it belongs to another tenant.
 * - `other_space`: it belongs to another space.
 * - `duplicate`: the same thing stands twice.
 * - `order`: a record stands before one that it must follow.
 * - `incomplete`: something that was announced is missing.
 * - `hash_mismatch`: the content is not the one that its hash names.
 * - `too_large`: more than one JSON snapshot may hold; an archive can.
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

/** The place of a fault; unknown parts are absent. */
export interface SnapshotPlace {
  /** Counted from 1, the head line included. */
  readonly line?: number;
  /** Name of the object of an archive, such as `chunk-000000.bin`. */
  readonly object?: string;
  /** JSON Pointer into the line, the manifest or the snapshot. */
  readonly pointer?: string;
}

/**
 * A snapshot or an archive that is refused. Names the place and the rule, never a value: a snapshot is a tenant's data. An
 * error of its own, because its meaning for a caller depends on the source of the snapshot.
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

/** What `check` gives; a refusal in the words of a request becomes one of a snapshot, at this place. */
export function placed<T>(place: SnapshotPlace, check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw inSnapshotWords(error, place);
  }
}

/** A refusal in the words of a request as one of a snapshot, at this place; any other error as it is. */
export function inSnapshotWords(error: unknown, place: SnapshotPlace): unknown {
  if (!(error instanceof ServiceError)) return error;
  const flaw = error.extensions.errors?.[0];
  const pointer = flaw?.pointer ?? place.pointer;
  return new SnapshotError(FAULTS[error.code] ?? 'invalid', flaw?.detail ?? error.message, {
    ...place,
    ...(pointer === undefined ? {} : { pointer }),
  });
}
