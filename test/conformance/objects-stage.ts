import { randomBytes, randomUUID } from 'node:crypto';
import type { BlobStore } from '../../functions/blobs/port.ts';
import { createRecordParts } from '../../functions/collections/parts.ts';
import type { Conditions } from '../../functions/kernel/conditions.ts';
import { bytesPlaceOf } from '../../functions/objects/bytes-place.ts';
import { deleteObject } from '../../functions/objects/delete-object.ts';
import { listObjects, type ObjectPage } from '../../functions/objects/list-objects.ts';
import { createObjectParts, type ObjectParts, objectLimits } from '../../functions/objects/parts.ts';
import { putObject } from '../../functions/objects/put-object.ts';
import { readObject } from '../../functions/objects/read-object.ts';

import type { ObjectInfo } from '../../functions/objects/rules/object-info.ts';
import { type ObjectListRequest, readObjectList } from '../../functions/objects/rules/object-list.ts';
import { sweepObjects } from '../../functions/objects/sweep-objects.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { ManualWorld } from '../support/manual-world.ts';
import { limits } from './records-stage.ts';

export interface ObjectsConformance {
  /** The store under test, open from before the first test to after the last. */
  readonly store: () => RecordStore;
  /** How many rivals a race has. */
  readonly rivals: number;
}

export const HOUR_MS = 3_600_000;
const MEBIBYTE = 1024 * 1024;

/** One process over the objects of a space. */
export class ObjectsStage {
  readonly space: string;
  readonly world: ManualWorld;
  readonly parts: ObjectParts;
  /** Runs that are active, by the ticket of their artifact. */
  readonly activeRuns: Set<string>;

  constructor(
    store: RecordStore,
    blobs: BlobStore | null,
    {
      space = `space ${randomUUID()}`,
      world = new ManualWorld(),
      bytesInFlightMax = 128 * MEBIBYTE,
      activeRuns = new Set<string>(),
    } = {},
  ) {
    this.space = space;
    this.world = world;
    this.activeRuns = activeRuns;
    const { clock, timers, http, turns } = world;
    const records = createRecordParts({
      store: () => Promise.resolve(store),
      // Tickets must differ from all others in the database.
      world: { clock, timers, http, turns, random: { bytes: (size) => randomBytes(size) } },
      limits,
    });
    this.parts = createObjectParts({
      records,
      place: bytesPlaceOf(records.store, blobs === null ? null : () => Promise.resolve(blobs)),
      limits: objectLimits(null, bytesInFlightMax),
    });
  }

  put(key: string, bytes: Uint8Array, condition: Conditions = {}): Promise<ObjectInfo> {
    return putObject(this.parts, this.space, {
      place: { container: 'files', key },
      contentType: null,
      metadata: {},
      condition,
      body: once(bytes),
    });
  }

  async get(key: string): Promise<Buffer | null> {
    const lease = this.parts.bytes.lease(this.space);
    const place = { container: 'files', key };
    const found = await readObject(this.parts, this.space, place, { wants: () => true, lease });
    lease.release();
    return found?.bytes == null ? null : Buffer.from(found.bytes);
  }

  remove(key: string, condition: Conditions = {}): Promise<void> {
    return deleteObject(this.parts, this.space, { container: 'files', key }, condition);
  }

  list(request: Partial<ObjectListRequest> = {}): Promise<ObjectPage> {
    return listObjects(this.parts, this.space, readObjectList({ container: 'files', ...request }));
  }

  sweep(isOver = () => false): Promise<number> {
    const isRunActive = (ticket: string) => Promise.resolve(this.activeRuns.has(ticket));
    return sweepObjects(this.parts, { isOver, isRunActive });
  }

  /** Sweeps until all due objects are removed. */
  async sweepLater(ms = 2 * HOUR_MS): Promise<void> {
    this.world.advance(ms);
    await this.sweep();
    this.world.advance(ms);
    await this.sweep();
  }
}

export async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes;
}

/** Bytes of an object that is too large for its record. */
export function largeBytes(fill: number): Buffer {
  return Buffer.alloc(40_000, fill);
}
