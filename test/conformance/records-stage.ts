import { randomBytes, randomUUID } from 'node:crypto';
import { createRecordParts, type RecordLimits, type RecordParts } from '../../functions/collections/parts.ts';
import { createCollection } from '../../functions/collections/pointers.ts';
import { type PolicyRequest, readPolicy } from '../../functions/collections/rules/policy.ts';
import { spaceCollections } from '../../functions/collections/store-collections.ts';
import type { StoredCollection } from '../../functions/collections/stored-collection.ts';
import { upkeepCollections } from '../../functions/collections/upkeep-collections.ts';
import { upsertRecord } from '../../functions/collections/write-records.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { ManualWorld } from '../support/manual-world.ts';

/** The declarations that a provider needs when it opens, for collections, records and objects. */
export const recordCollections = [...spaceCollections, ...upkeepCollections];

export interface RecordsConformance {
  /** The store under test, open from before the first test to after the last. */
  readonly store: () => RecordStore;
  /** How many rivals a race has. */
  readonly rivals: number;
  /** How often a property is tried. */
  readonly runs: number;
}

export const limits: RecordLimits = {
  readsPerCallMax: 5_000,
  pageRecordsMax: 1_000,
  answerBytesMax: 10_000_000,
};

/** One process over a space of its own. */
export class RecordsStage {
  readonly space: string;
  readonly world = new ManualWorld();
  readonly parts: RecordParts;

  /** Incarnations differ from all others in the database. */
  constructor(store: RecordStore, own: Partial<RecordLimits> = {}, space = `space ${randomUUID()}`) {
    this.space = space;
    const { clock, timers, http, turns } = this.world;
    this.parts = createRecordParts({
      store: () => Promise.resolve(store),
      world: { clock, timers, http, turns, random: { bytes: randomBytes } },
      limits: { ...limits, ...own },
    });
  }

  create(policy: PolicyRequest): Promise<StoredCollection> {
    return createCollection(this.parts, this.space, readPolicy(policy));
  }

  put(name: string, record: object | string) {
    const text = typeof record === 'string' ? record : JSON.stringify(record);
    return upsertRecord(this.parts, this.space, name, text, null);
  }
}
