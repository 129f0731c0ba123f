import { announceLedger } from '../collections/leftovers.ts';
import type { RecordParts } from '../collections/parts.ts';
import { IMPORT_PROGRESS, spaceScope } from '../collections/store-collections.ts';
import type { StoredCollection } from '../collections/stored-collection.ts';
import { parseJson } from '../kernel/json-text.ts';
import type { Head, LoadedRecords, RecordData, RecordKey } from '../store/port.ts';
import { recordId } from '../store/record-id.ts';
import { type PackedPlan, packPlan } from './rules/packed-plan.ts';
import type { IngestPlan } from './rules/plan.ts';
import type { WriteLedger } from './write-plan.ts';

/** The progress of a document in a job. */
export interface IngestPlace {
  readonly space: string;
  readonly runId: string;
  /** The index of the document in its job. */
  readonly index: number;
}

/** A plan that is partly or fully written. */
export interface BegunPlan {
  readonly incarnation: string;
  readonly plan: PackedPlan;
  /** The index of the first remaining write. */
  readonly next: number;
  /** The stamps of the written records, in the order of the writes. */
  readonly revisions: readonly number[];
  /** The indexes of skipped removals. */
  readonly spared: readonly number[];
}

/**
 * The written part of a document of a job. It changes in the transactions of the writes, so a job that is executed again writes
 * nothing twice and gives the answer of an uninterrupted execution. Upkeep removes it after the run.
 */
export class IngestProgress {
  readonly #parts: RecordParts;
  readonly #place: IngestPlace;
  readonly #key: RecordKey;
  #announced = false;

  constructor(parts: RecordParts, place: IngestPlace) {
    this.#parts = parts;
    this.#place = place;
    const id = recordId('rag-progress', place.runId, String(place.index));
    this.#key = { collection: IMPORT_PROGRESS.name, id };
  }

  /** `null`: no part is written. */
  async read(): Promise<BegunPlan | null> {
    const store = await this.#parts.store();
    const keys = [{ key: this.#key, view: 'body' as const }];
    const { records } = await store.query(spaceScope(this.#place.space), { by: 'keys', keys });
    return records[0] === undefined ? null : begunIn(records[0]);
  }

  /** The part of the ledger in the transactions of the plan. It is registered for upkeep before it exists. */
  async ledger({ incarnation }: StoredCollection, plan: IngestPlan): Promise<WriteLedger> {
    const { space, runId, index } = this.#place;
    if (!this.#announced) await announceLedger(this.#parts, space, runId);
    this.#announced = true;
    const key = this.#key;
    const body = JSON.stringify(packPlan(plan));
    const listing = { group: runId, id: `rag-${index}`, hidden: false, indexes: {} };
    const { hash } = plan;
    return {
      keys: [{ key }],
      writes(found, { from, next, spared }, stamps) {
        const before = headIn(found, key);
        // Another execution of the job has advanced the ledger: this one continues from there.
        if (before?.incarnation === incarnation ? before.next !== from || before.hash !== hash : from > 0)
          return null;
        const known = from === 0 ? null : before;
        const revisions = [...(known?.revisions ?? []), ...stamps.map(({ revision }) => revision)];
        const lists = listsHead(revisions, [...(known?.spared ?? []), ...spared]);
        const head = { incarnation, hash, next, ...lists };
        return [{ put: from === 0 ? { key, head, body, listing } : { key, head } }];
      },
    };
  }
}

interface ProgressHead extends Omit<BegunPlan, 'plan'> {
  readonly hash: string;
}

/** Most plans skip no removal, and a head is read with every write. */
function listsHead(revisions: readonly number[], spared: readonly number[]): Head {
  const common = { revisions: JSON.stringify(revisions) };
  return spared.length === 0 ? common : { ...common, spared: JSON.stringify(spared) };
}

function headIn(found: LoadedRecords, key: RecordKey): ProgressHead | null {
  const record = found.get(key);
  return record === undefined ? null : headOf(record);
}

function headOf({ head }: RecordData): ProgressHead {
  return {
    incarnation: String(head['incarnation']),
    hash: String(head['hash']),
    next: Number(head['next']),
    revisions: parseJson(String(head['revisions'])) as readonly number[],
    spared: parseJson(String(head['spared'] ?? '[]')) as readonly number[],
  };
}

function begunIn(record: RecordData): BegunPlan {
  const { hash: _, ...begun } = headOf(record);
  return { ...begun, plan: parseJson(record.body ?? 'null') as PackedPlan };
}
