import { readListing } from '../collections/page-request.ts';
import type { RecordParts } from '../collections/parts.ts';
import { readAtOneMoment, tokenOf } from '../collections/query-records.ts';
import type { ReadCall } from '../collections/read-call.ts';
import type { RecordValue } from '../collections/rules/record-key.ts';
import type { StoredCollection } from '../collections/stored-collection.ts';
import { invalidMember } from '../kernel/errors.ts';
import { parseJson } from '../kernel/json-text.ts';
import { inTurns } from '../kernel/turns.ts';
import { exportedKinds, type GraphChoice, graphQuery } from './graph-query.ts';
import { readMaxRecords } from './read-examination.ts';
import type { GraphEnvelope } from './rules/elements.ts';
import { rebuildEnvelope } from './rules/rebuild.ts';

export interface ReadGraph {
  readonly collection: StoredCollection;
  /** Sorted by type and id. */
  readonly records: readonly RecordValue[];
  readonly maxRecords: number;
  /** Whether the graph has further records. */
  readonly truncated: boolean;
  readonly continuationToken: string | null;
}

export interface GraphRead extends GraphChoice {
  readonly includeProjections?: boolean | null;
  readonly maxRecords?: number | null;
}

/** The records of a graph as of one moment. Throws the refusal of the request, of its cost or of an absent collection. */
export async function readGraph(
  parts: RecordParts,
  space: string,
  name: string,
  request: GraphRead,
  call: ReadCall = {},
): Promise<ReadGraph> {
  const maxRecords = readMaxRecords(request.maxRecords);
  const kinds = exportedKinds(request.includeProjections ?? true);
  const { collection, page } = await readAtOneMoment(parts, space, name, call, ({ policy }, read) =>
    read(readListing(graphQuery(request, kinds), policy), {
      records: maxRecords,
      bytes: parts.limits.answerBytesMax,
    }),
  );
  const turns = parts.world.turns.of(space);
  const records: RecordValue[] = [];
  for (const text of page.records) {
    records.push(parseJson(text) as RecordValue);
    if (turns.due()) await turns.next();
  }
  const truncated = page.nextOffset !== null;
  return { collection, records, maxRecords, truncated, continuationToken: tokenOf(page) };
}

/** The refusal of a call that needs the whole graph but read a part. */
export function graphTooLarge(maxRecords: number, instead: string) {
  const detail = `the graph has more than ${maxRecords} records, or more than an answer can carry: ${instead}`;
  return invalidMember('/maxRecords', detail, 'limit_exceeded');
}

export interface ExportedGraph extends Omit<ReadGraph, 'records'> {
  readonly envelope: GraphEnvelope;
  readonly recordCount: number;
}

/** The graph of the records. Throws as `readGraph` does, and if the graph is truncated and the caller does not accept a part. */
export async function exportGraph(
  parts: RecordParts,
  space: string,
  name: string,
  request: GraphRead & { readonly failOnLimitExceeded?: boolean | null },
  call: ReadCall = {},
): Promise<ExportedGraph> {
  const { records, ...read } = await readGraph(parts, space, name, request, call);
  if (read.truncated && (request.failOnLimitExceeded ?? true))
    throw graphTooLarge(read.maxRecords, 'set failOnLimitExceeded to false to get a part');
  const envelope = await inTurns(rebuildEnvelope(records), parts.world.turns.of(space));
  return { ...read, envelope, recordCount: records.length };
}
