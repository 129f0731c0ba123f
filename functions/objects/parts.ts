import { limits } from '../../contracts/generated/limits.ts';
import { objectBytesMax } from '../blobs/rules.ts';
import type { RecordParts } from '../collections/parts.ts';
import type { PayloadPlace } from '../collections/payload-place.ts';
import { ObjectMemory } from './object-memory.ts';
import { SpaceMarks } from './space-marks.ts';

/** The dependencies of the functions over objects. */
export interface ObjectParts {
  /** The store, the world, and the collections into which artifacts are written. */
  readonly records: RecordParts;
  /** The storage of the bytes of large objects. */
  readonly place: PayloadPlace;
  readonly bytes: ObjectMemory;
  readonly marks: SpaceMarks;
  readonly limits: ObjectLimits;
}

export interface ObjectLimits {
  /** Bytes of one object. */
  readonly objectBytesMax: number;
  /** Bytes of one artifact that is ingested with its record. */
  readonly artifactBytesMax: number;
  /** Bytes of objects that the process holds in memory. */
  readonly bytesInFlightMax: number;
}

/** The limits of a process. `messageBytesMax` is what the platform in front carries; `null` for no bound. */
export function objectLimits(messageBytesMax: number | null, bytesInFlightMax: number): ObjectLimits {
  const most = messageBytesMax ?? objectBytesMax;
  return {
    objectBytesMax: Math.min(objectBytesMax, most),
    artifactBytesMax: Math.min(limits.recordArtifactBytesMax, most),
    bytesInFlightMax,
  };
}

/** The parts with the caches of a process. */
export function createObjectParts(own: Pick<ObjectParts, 'records' | 'place' | 'limits'>): ObjectParts {
  return {
    ...own,
    bytes: new ObjectMemory(own.limits.bytesInFlightMax, own.limits.objectBytesMax, own.records.world.clock),
    marks: new SpaceMarks(own.records),
  };
}
