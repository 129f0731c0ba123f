import type { JsonObject } from '../kernel/canonical-json.ts';
import { invalidMember } from '../kernel/errors.ts';
import { chooseDriver, type IndexedFacts, indexedFacts, type QueryDriver, rangeOf } from './rules/driver.ts';
import { type Filter, type FilterNode, readFilter } from './rules/filter.ts';
import { type RecordCondition, readPartitionKeys } from './rules/judge.ts';
import { type PageRequest, readPageRequest } from './rules/offset-page.ts';
import { type OrderExpression, type OrderTerm, readOrder } from './rules/order.ts';
import type { RecordPath } from './rules/path.ts';
import type { CollectionPolicy } from './rules/policy.ts';
import { projectedPaths } from './rules/projection.ts';

/** The most lists that are merged; with more, the range from the least to the greatest value is read instead. */
const MERGED_LISTS_MAX = 50;

/** A query of a request, whose members have the types that its schema names. */
export interface QueryRequest {
  readonly partitionKeys?: readonly string[] | null;
  readonly filter?: FilterNode | null;
  readonly orderBy?: readonly OrderExpression[] | null;
  readonly limit?: number | null;
  readonly continuationToken?: string | null;
}

/** A query that was checked against the policy of its collection. */
export interface RecordQuery {
  readonly condition: RecordCondition;
  readonly order: readonly OrderTerm[];
  readonly page: PageRequest;
  readonly driver: QueryDriver;
  /** The facts about every match that indexes can check, beside the partition keys. */
  readonly facts: IndexedFacts;
  /** Whether a path leads into the vectors, which are unpacked only then. */
  readonly readsVectors: boolean;
  /** The advice to the caller if the query needs too many reads. */
  readonly advice: string;
  /** The query without its page, to bind tokens to it. */
  readonly asked: JsonObject;
}

/** Reads a query without ranking: refuses members that only a search has. Throws as `readQuery` does. */
export function readListing(
  request: QueryRequest & { readonly vector?: unknown; readonly lexical?: unknown },
  policy: CollectionPolicy,
  pointer = '',
): RecordQuery {
  for (const member of ['vector', 'lexical'] as const)
    if ((request[member] ?? null) !== null)
      throw invalidMember(`${pointer}/${member}`, 'must be absent: only a search ranks records');
  return readQuery(request, policy, pointer);
}

/** Reads a query. Throws `validation_failed`, `limit_exceeded` or `continuation_token_invalid` below `pointer`. */
export function readQuery(request: QueryRequest, policy: CollectionPolicy, pointer = ''): RecordQuery {
  const { partitionKeys = null, filter = null, orderBy = null, limit, continuationToken } = request;
  const condition = {
    partitionKeys: readPartitionKeys(partitionKeys),
    filter: readFilter(filter, policy.indexedMetadata, `${pointer}/filter`),
  };
  const order = readOrder(orderBy, `${pointer}/orderBy`);
  const projected = projectedPaths(policy.indexedMetadata);
  const paths = [...pathsOf(condition.filter), ...order.map(({ path }) => path)];
  return {
    condition,
    order,
    page: readPageRequest(limit, continuationToken, pointer),
    driver: driverOf(condition, projected),
    facts: indexedFacts(condition.filter, projected),
    readsVectors: paths.some(({ segments }) => segments[0] === 'vectors'),
    advice: adviceOf(paths, projected),
    asked: { partitionKeys, filter, orderBy } as unknown as JsonObject,
  };
}

function driverOf(condition: RecordCondition, projected: readonly RecordPath[]): QueryDriver {
  const driver = chooseDriver(condition, projected);
  return driver.by === 'in' && driver.values.length > MERGED_LISTS_MAX ? rangeOf(driver) : driver;
}

function pathsOf(filter: Filter | null): RecordPath[] {
  if (filter === null) return [];
  return 'combine' in filter ? filter.children.flatMap(pathsOf) : [filter.path];
}

/** Names the first path without an index: with an index, an equality or a range on it would find the records. */
function adviceOf(paths: readonly RecordPath[], projected: readonly RecordPath[]): string {
  const indexed = new Set(projected.map(({ text }) => text));
  const first = paths.find(({ text }) => !indexed.has(text));
  return first === undefined
    ? 'Name partition keys, or add a condition on an indexed path that fewer records meet.'
    : `Create the collection with ${first.text} among its indexedMetadata and compare the path by eq, in or a range, or name partition keys.`;
}
