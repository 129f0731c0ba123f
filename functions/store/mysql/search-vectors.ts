import { listQuestion } from '../list-plan.ts';
import type { VectorChange, VectorRows, VectorSlotState } from '../nearest/vector-rows.ts';
import type { KeysSelection, Scope } from '../port.ts';
import type { Among, NearestRequest } from '../search.ts';
import { amongConditions, amongPrefixes } from './among.ts';
import { countsOf } from './list.ts';
import { listOf, slices } from './read.ts';
import type { Snapshot } from './snapshot.ts';
import { IN_SCOPE, ofScope, Sql, statement } from './statement.ts';

/** Each prefix is a range of its own. */
const prefixesMax = 64;

interface SlotRow {
  readonly number: number;
  readonly version: number;
  readonly trimmed: number;
  readonly live: number;
}

interface VectorRow {
  readonly id: string;
  readonly version: number;
  readonly vector: Buffer | null;
}

/** The vectors of one slot at the moment of the snapshot. */
export class SlotRows implements VectorRows {
  readonly #snapshot: Snapshot;
  readonly #scope: Scope;
  readonly #request: NearestRequest;
  #slot: number | undefined;

  constructor(snapshot: Snapshot, scope: Scope, request: NearestRequest) {
    this.#snapshot = snapshot;
    this.#scope = scope;
    this.#request = request;
  }

  get owner(): string {
    return this.#scope.name;
  }

  async state(): Promise<VectorSlotState | null> {
    const { collection, group, slot } = this.#request;
    const { text, values } = ofScope(this.#scope);
    const [{ rows }] = await this.#snapshot.send(
      statement<SlotRow>(
        `SELECT v.number, v.version, v.trimmed, v.live FROM ${IN_SCOPE} {search_slots} AS v
          FORCE INDEX (search_slots_key) ON v.space = s.space
          WHERE ${text} AND v.collection = ? AND v.search_group = ? AND v.slot = ?`,
        ...values,
        collection,
        group,
        slot,
      ),
    );
    const [row] = rows;
    this.#slot = row?.number;
    if (row === undefined) return null;
    return { slot: row.number, version: row.version, trimmed: row.trimmed, rows: row.live };
  }

  async changes(after: number, limit: number): Promise<readonly VectorChange[]> {
    const [{ rows }] = await this.#snapshot.send(
      statement<VectorRow>(
        `SELECT id, version, vector FROM {search_vectors} FORCE INDEX (search_vectors_by_version)
          WHERE slot = ? AND version > ? ORDER BY version LIMIT ?`,
        await this.#number(),
        after,
        limit,
      ),
    );
    return rows.map(({ id, version, vector }) => ({ id, version, values: vector }));
  }

  async vectors(ids: readonly string[]): Promise<ReadonlyMap<string, Uint8Array>> {
    if (ids.length === 0) return new Map();
    const number = await this.#number();
    const answers = await this.#snapshot.send(
      ...this.#slices(ids).map((keys) => {
        const [list, ...values] = listOf(keys);
        return statement<{ id: string; vector: Buffer }>(
          `SELECT x.id, x.vector FROM ${list} STRAIGHT_JOIN {search_vectors} AS x FORCE INDEX (PRIMARY)
            ON x.slot = ? AND x.id = k.id WHERE x.vector IS NOT NULL`,
          ...values,
          number,
        );
      }),
    );
    return new Map(answers.flatMap(({ rows }) => rows.map(({ id, vector }) => [id, vector] as const)));
  }

  async listingIds(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (ids.length === 0) return new Map();
    const { text, values } = ofScope(this.#scope);
    const answers = await this.#snapshot.send(
      ...this.#slices(ids).map((keys) =>
        new Sql()
          .add(`SELECT r.id, r.listing_id FROM ${IN_SCOPE}`)
          .add(...listOf(keys))
          .add('STRAIGHT_JOIN {records} AS r FORCE INDEX (PRIMARY)')
          .add('ON r.space = s.space AND r.collection = k.collection AND r.id = k.id')
          .add(`WHERE ${text} AND r.listing_group IS NOT NULL`, ...values),
      ),
    );
    const rows = answers.flatMap((answer) => answer.rows as { id: string; listing_id: string }[]);
    return new Map(rows.map(({ id, listing_id }) => [id, listing_id]));
  }

  /** Walks the entries of the condition that has the fewest, and no more of them than answers may be. */
  async among({ idPrefixes, ...conditions }: Among, most: number): Promise<readonly string[] | null> {
    const { collection, group } = this.#request;
    const named = { name: collection, pairedIndexes: false };
    const question = listQuestion({ by: 'list', collection: named, group, limit: most, ...conditions });
    if (question === undefined) return [];
    if (question.predicates.length === 0) {
      if (idPrefixes === undefined || idPrefixes.length > prefixesMax) return null;
      if (idPrefixes.length === 0) return [];
      const asked = amongPrefixes(this.#scope, question, idPrefixes, most);
      const [{ rows }] = await this.#snapshot.send(asked);
      // Two prefixes may lead to one record.
      return rows.length > most ? null : [...new Set(rows.map(({ id }) => id))];
    }
    const counting = countsOf(this.#scope, question);
    const counts = counting === undefined ? undefined : (await this.#snapshot.send(counting))[0].rows[0];
    const asked = amongConditions(this.#scope, question, { counts, idPrefixes, most });
    const [{ rows }] = await this.#snapshot.send(asked);
    return rows.length > most ? null : rows.filter(({ matched }) => matched === 1).map(({ id }) => id);
  }

  #slices(ids: readonly string[]): readonly KeysSelection['keys'][number]['key'][][] {
    return slices(ids.map((id) => ({ collection: this.#request.collection, id })));
  }

  async #number(): Promise<number> {
    if (this.#slot === undefined) await this.state();
    return this.#slot ?? 0;
  }
}
