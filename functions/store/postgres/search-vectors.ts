import { listQuestion } from '../list-plan.ts';
import type { VectorChange, VectorRows, VectorSlotState } from '../nearest/vector-rows.ts';
import type { Scope } from '../port.ts';
import type { Among, NearestRequest } from '../search.ts';
import { amongConditions, amongPrefixes } from './among.ts';
import { type Reader } from './connection.ts';
import { countStatement } from './list.ts';
import { liveSpace } from './rows.ts';
import { arrayOf, statement } from './statement.ts';

const selectState = `
  SELECT s.number, s.version, s.trimmed, s.live FROM search_slots AS s
  WHERE s.space = ${liveSpace} AND s.collection = $3 AND s.search_group = $4 AND s.slot = $5`;

const selectChanges = `
  SELECT x.id, x.version, x.vector FROM search_vectors AS x
  WHERE x.slot = $1 AND x.version > $2 ORDER BY x.version LIMIT $3::bigint`;

const selectVectors = `
  SELECT x.id, x.vector FROM unnest($2::text[]) AS k (id) CROSS JOIN LATERAL (
    SELECT x.id, x.vector FROM search_vectors AS x WHERE x.slot = $1 AND x.id = k.id OFFSET 0
  ) AS x WHERE x.vector IS NOT NULL`;

const selectListingIds = `
  SELECT r.id, r.listing_id FROM scopes AS s CROSS JOIN unnest($4::text[]) AS k (id) CROSS JOIN LATERAL (
    SELECT r.id, r.listing_id, r.listing_group FROM records AS r
    WHERE r.space = s.space AND r.collection = $3 AND r.id = k.id OFFSET 0
  ) AS r WHERE s.kind = $1 AND s.name = $2 AND r.listing_group IS NOT NULL`;

interface SlotRow {
  readonly number: string;
  readonly version: string;
  readonly trimmed: string;
  readonly live: string;
}

/** Each prefix is a range of its own. */
const prefixesMax = 64;

/** How the lists of the request's collection are kept. */
export interface ListRules {
  readonly paired: boolean;
  readonly grouped: boolean;
}

/** The vectors of one slot at the moment of the reader. */
export class SlotRows implements VectorRows {
  readonly #reader: Reader;
  readonly #scope: Scope;
  readonly #request: NearestRequest;
  readonly #rules: ListRules;
  #slot: string | undefined;

  constructor(reader: Reader, scope: Scope, request: NearestRequest, rules: ListRules) {
    this.#reader = reader;
    this.#scope = scope;
    this.#request = request;
    this.#rules = rules;
  }

  get owner(): string {
    return this.#scope.name;
  }

  async state(): Promise<VectorSlotState | null> {
    const { collection, group, slot } = this.#request;
    const { kind, name } = this.#scope;
    const [[row]] = await this.#reader.send(
      statement<SlotRow>(selectState, kind, name, collection, group, slot),
    );
    this.#slot = row?.number;
    if (row === undefined) return null;
    const { number, version, trimmed, live } = row;
    return { slot: number, version: Number(version), trimmed: Number(trimmed), rows: Number(live) };
  }

  async changes(after: number, limit: number): Promise<readonly VectorChange[]> {
    const [rows] = await this.#reader.send(
      statement<{ id: string; version: string; vector: Buffer | null }>(
        selectChanges,
        await this.#number(),
        after,
        limit,
      ),
    );
    return rows.map(({ id, version, vector }) => ({ id, version: Number(version), values: vector }));
  }

  async vectors(ids: readonly string[]): Promise<ReadonlyMap<string, Uint8Array>> {
    const [rows] = await this.#reader.send(
      statement<{ id: string; vector: Buffer }>(selectVectors, await this.#number(), arrayOf(ids)),
    );
    return new Map(rows.map(({ id, vector }) => [id, vector]));
  }

  async listingIds(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const { kind, name } = this.#scope;
    const [rows] = await this.#reader.send(
      statement<{ id: string; listing_id: string }>(
        selectListingIds,
        kind,
        name,
        this.#request.collection,
        arrayOf(ids),
      ),
    );
    return new Map(rows.map(({ id, listing_id }) => [id, listing_id]));
  }

  /** Walks the entries of the condition that has the fewest, and no more of them than answers may be. */
  async among({ idPrefixes, ...conditions }: Among, most: number): Promise<readonly string[] | null> {
    const { grouped, paired } = this.#rules;
    // Elsewhere the group of the listing may be another than that of the search.
    if (!grouped) return null;
    const { collection, group } = this.#request;
    const name = { name: collection, pairedIndexes: paired, listedByGroup: true } as const;
    const question = listQuestion({ by: 'list', collection: name, group, limit: most, ...conditions });
    if (question === undefined) return [];
    if (question.predicates.length === 0) {
      if (idPrefixes === undefined || idPrefixes.length > prefixesMax) return null;
      const [rows] = await this.#reader.send(amongPrefixes(this.#scope, question, idPrefixes, most));
      // Two prefixes may lead to one record.
      return rows.length > most ? null : [...new Set(rows.map(({ id }) => id))];
    }
    const counting = countStatement(this.#scope, question);
    const counts = counting === undefined ? undefined : (await this.#reader.send(counting))[0][0];
    const asked = amongConditions(this.#scope, question, { counts, idPrefixes, most });
    const [rows] = await this.#reader.send(asked);
    return rows.length > most ? null : rows.filter(({ matched }) => matched).map(({ id }) => id);
  }

  async #number(): Promise<string> {
    if (this.#slot === undefined) await this.state();
    return this.#slot ?? '0';
  }
}
