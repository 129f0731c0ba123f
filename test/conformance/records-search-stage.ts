import { expect } from 'vitest';
import { searchRecords } from '../../functions/collections/search-records.ts';
import type { SearchRequest } from '../../functions/collections/search-request.ts';
import { writeChunk } from '../../functions/collections/write-chunk.ts';
import type { JsonObject } from '../../functions/kernel/canonical-json.ts';
import { parseJson } from '../../functions/kernel/json-text.ts';
import type { Moment, RecordStore, Scope } from '../../functions/store/port.ts';
import type { FindPage, FindRequest, Metric } from '../../functions/store/search.ts';
import type { Stored } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { patched } from './canonical-outbox-tenant.ts';
import type { RecordsStage } from './records-stage.ts';

/** The collection of a test. */
export const NAME = 'notes';

/** A vector of three dimensions for each metric, under its name. */
export const metrics = ['cosine', 'dotProduct', 'euclidean'] as const satisfies readonly Metric[];
export const vectorPolicies = metrics.map((name) => ({
  name,
  path: `/vectors/${name}/values`,
  dimensions: 3,
  distanceFunction: name,
}));

export function vectorsOf(values: readonly number[]): JsonObject {
  return Object.fromEntries(metrics.map((name) => [name, { values: [...values], distanceFunction: name }]));
}

export interface Match {
  readonly record: JsonObject;
  readonly score: number;
  readonly diagnostics: JsonObject | null;
}

/** All pages of a search, one after the other. */
export async function allOf(
  { parts, space }: RecordsStage,
  request: SearchRequest,
  name = NAME,
): Promise<readonly Match[]> {
  const found: Match[] = [];
  for (let continuationToken: string | null = null; ; ) {
    const page = await searchRecords(parts, space, name, { ...request, continuationToken });
    found.push(...page.matches.map((text) => parseJson(text) as Match));
    if (page.continuationToken === null) return found;
    expect(page.matches.length).toBeGreaterThan(0);
    continuationToken = page.continuationToken;
  }
}

/** Writes records as callers do. */
export async function writeAll(
  { parts, space }: RecordsStage,
  texts: readonly string[],
  name = NAME,
): Promise<void> {
  for (let items = texts.map((text) => ({ text })); items.length > 0; ) {
    const outcomes = await writeChunk(parts, space, { name }, items, { continueOnError: false });
    for (const { outcome } of outcomes) expect(outcome).not.toHaveProperty('error');
    items = items.slice(outcomes.length);
  }
}

export const placeOf = ({ partitionKey, id }: JsonObject): string => JSON.stringify([partitionKey, id]);

/** A store that reports each find of a search, and waits before it gives the answer. */
export function watchingFinds(
  store: RecordStore,
  found: (request: FindRequest) => Promise<void>,
): RecordStore {
  const watched = (moment: Moment): Moment => ({
    query: moment.query.bind(moment),
    count: moment.count,
    generation: () => moment.generation(),
    find: (async (request: FindRequest) => {
      const answer = await (moment.find as (request: FindRequest) => Promise<unknown>)(request);
      await found(request);
      return answer;
    }) as Moment['find'],
  });
  return patched(store, {
    snapshot: (scope, read) => store.snapshot(scope, (moment) => read(watched(moment))),
  });
}

/** A store that answers for the whole group where others narrow a search by vector. */
export class WholeGroups extends MemoryStore {
  protected override find(scope: Scope, all: readonly Stored[], request: FindRequest): FindPage {
    if (request.by !== 'nearest') return super.find(scope, all, request);
    const { among: _, ...whole } = request;
    return super.find(scope, all, whole);
  }
}
